//! tilescope-interpreter

pub mod num;
