//! Comparisons, logic and selection.

use crate::ast::{BoolOp, CompareOp};
use crate::cx::{Cx, Result};
use crate::value::{Tensor, Value};

impl Cx<'_> {
    /// A comparison where at least one side is a run-time tensor (not `is`, `in`).
    ///
    /// # Errors
    /// As for [`Cx::binary`].
    pub fn compare(&mut self, op: CompareOp, _l: &Value, _r: &Value) -> Result<Value> {
        Err(self.unsupported(format!("`{}` of tensors", op.symbol())))
    }

    /// `and`, `or` of run-time values (Triton: `logical_and`, `logical_or`).
    ///
    /// # Errors
    /// As for [`Cx::binary`].
    pub fn logic(&mut self, _op: BoolOp, _l: &Value, _r: &Value) -> Result<Value> {
        Err(self.unsupported("`and` of tensors"))
    }

    /// A condition as one `int1`.
    ///
    /// # Errors
    /// A block of several elements.
    pub fn to_condition(&mut self, _value: &Tensor) -> Result<Tensor> {
        Err(self.unsupported("run-time conditions"))
    }

    /// `tl.where`.
    ///
    /// # Errors
    /// Operands that do not combine.
    pub fn where_(&mut self, _condition: &Value, _x: &Value, _y: &Value) -> Result<Tensor> {
        Err(self.unsupported("`where`"))
    }
}
