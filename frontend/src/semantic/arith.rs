//! Arithmetic: operators, minimum and maximum, divisions.

use tilescope_ir::attrs::PropagateNan;

use crate::ast::{BinaryOp, UnaryOp};
use crate::cx::{Cx, Result};
use crate::value::{Tensor, Value};

/// Which float division.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Division {
    /// As the hardware does it by default.
    Plain,
    /// Rounded to nearest (`ieee_rounding=True`, `div_rn`).
    Ieee,
    /// Approximate, of fp32 only.
    Approx,
}

/// Which of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Extremum {
    Minimum,
    Maximum,
}

impl Cx<'_> {
    /// `l op r` where at least one side is a run-time tensor.
    ///
    /// # Errors
    /// Types that do not fit the operator, shapes that do not broadcast.
    pub fn binary(&mut self, op: BinaryOp, _l: &Value, _r: &Value) -> Result<Value> {
        Err(self.unsupported(format!("`{}` of tensors", op.symbol())))
    }

    /// A unary operator of a run-time tensor; `not` is that of truth values.
    ///
    /// # Errors
    /// A type that does not fit.
    pub fn unary(&mut self, op: UnaryOp, _x: &Tensor) -> Result<Value> {
        Err(self.unsupported(format!("`{}` of a tensor", op.symbol())))
    }

    /// `tl.math.fdiv`, `tl.div_rn`: a float division.
    ///
    /// # Errors
    /// Integers; types other than fp32 where approximate.
    pub fn divide(&mut self, _l: &Value, _r: &Value, _kind: Division) -> Result<Tensor> {
        Err(self.unsupported("`fdiv`"))
    }

    /// `tl.minimum`, `tl.maximum`.
    ///
    /// # Errors
    /// Operands that do not combine.
    pub fn extremum(
        &mut self,
        _kind: Extremum,
        _l: &Value,
        _r: &Value,
        _nan: PropagateNan,
    ) -> Result<Tensor> {
        Err(self.unsupported("`minimum`, `maximum`"))
    }

    /// `tl.clamp`.
    ///
    /// # Errors
    /// Operands that do not combine.
    pub fn clamp(&mut self, _x: &Value, _low: &Value, _high: &Value, _nan: PropagateNan) -> Result<Tensor> {
        Err(self.unsupported("`clamp`"))
    }
}
