//! What a kernel's output should be, and whether it is that.
//!
//! An expected output comes from a formula, a named reference or a data file. All of them are
//! float64 arrays: an oracle computes with more precision than the kernel it judges.

mod reference;

pub use reference::{Operand, Reference};
