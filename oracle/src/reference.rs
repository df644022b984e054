//! Named references: expected outputs written in Rust.

use ndarray::ArrayD;

/// What a formula or reference computes with.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// A tensor argument's view before the launch, row-major, in float64.
    Array(ArrayD<f64>),
    /// A scalar argument.
    Scalar(f64),
}

/// Computes one expected output from the operands that `[expect]` names in `args`, in that order.
///
/// # Errors
/// Says in words what is wrong with the operands (their number or shapes).
pub type Reference = fn(&[Operand]) -> Result<ArrayD<f64>, String>;
