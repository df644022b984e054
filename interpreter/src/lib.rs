//! tilescope-interpreter

pub mod num;
pub mod simd;
