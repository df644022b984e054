//! Operations on whole tiles, run through the interpreter and held against plain loops.

// The references may use the system's functions: the tolerances allow for them, and `mul_add` is exact.
#![allow(clippy::disallowed_methods)]

mod bench;
mod dot;
mod math;
mod properties;
mod reduce;
mod scan;
mod uniform;
