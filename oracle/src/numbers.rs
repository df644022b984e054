//! Arrays as the oracle compares them: integers exactly, everything else in float64.

use ndarray::ArrayD;
use tilescope_diagnostics::Value;

use crate::Operand;

/// The elements of a tensor (or a scalar, with no dimensions), row-major.
#[derive(Debug, Clone, PartialEq)]
pub enum Numbers {
    /// Elements of an integer dtype (`i1` as 0 and 1); wide enough for `i64` and `u64`.
    Int(ArrayD<i128>),
    /// Elements of a float dtype, widened exactly.
    Float(ArrayD<f64>),
}

impl Numbers {
    /// Elements per dimension.
    pub fn shape(&self) -> &[usize] {
        match self {
            Numbers::Int(a) => a.shape(),
            Numbers::Float(a) => a.shape(),
        }
    }

    /// In float64; integers beyond 2^53 are rounded to nearest.
    pub fn into_f64(self) -> ArrayD<f64> {
        match self {
            Numbers::Int(a) => a.mapv(|v| v as f64),
            Numbers::Float(a) => a,
        }
    }

    /// As a [`Reference`](crate::Reference) takes it: an array without dimensions is a scalar.
    pub fn into_operand(self) -> Operand {
        let array = self.into_f64();
        match array.first() {
            Some(&value) if array.ndim() == 0 => Operand::Scalar(value),
            _ => Operand::Array(array),
        }
    }

    /// The element at a row-major position.
    pub(crate) fn element(&self, index: &[usize]) -> Option<Value> {
        match self {
            Numbers::Int(a) => a.get(index).map(|&v| Value::Int(v)),
            Numbers::Float(a) => a.get(index).map(|&v| Value::Float(v)),
        }
    }
}
