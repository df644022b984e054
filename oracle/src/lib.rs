//! What a kernel's output should be, and whether it is that.
//!
//! An expected output comes from a formula, a named reference or a data file, all computed with
//! more precision than the kernel they judge: float64, or exact integers. The comparison allows
//! what the launch file's tolerance allows and reports the rest as one `output-mismatch` finding.
//!
//! Prints nothing, reads no file, runs no kernel.

mod compare;
mod formula;
mod inputs;
mod judge;
mod numbers;
mod reference;
mod rounding;
mod summary;
mod tolerance;

pub use compare::{Difference, Mismatch, Rule, compare};
pub use formula::{Limits, evaluate};
pub use inputs::Inputs;
pub use judge::{Expectation, References, expectations, judge};
pub use numbers::Numbers;
pub use reference::{Operand, Reference};
pub use summary::summary;
pub use tolerance::{Accumulation, Tolerance};
