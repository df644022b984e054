//! Operations on whole tiles, run through the interpreter and held against plain loops.

mod bench;
mod dot;
mod math;
mod reduce;
mod scan;
