//! Operations on whole tiles, run through the interpreter and held against plain loops.

mod bench;
mod reduce;
mod scan;
