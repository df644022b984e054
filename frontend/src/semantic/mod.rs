//! What Triton's operations do with run-time values: conversion of constants, type promotion, broadcasting, and
//! the IR operations that come out.
//!
//! The rules are those of Triton's `language/semantic.py`, versions 3.2 to 3.9. Every method of [`Cx`] here takes
//! values that are already evaluated; nothing here knows syntax.

use crate::ast::{BinaryOp, BoolOp, CompareOp, UnaryOp};
use crate::cx::{Cx, Result};
use crate::value::{Tensor, Value};

impl Cx<'_> {
    /// `l op r` where at least one side is a run-time tensor.
    ///
    /// # Errors
    /// Types that do not fit the operator, shapes that do not broadcast.
    pub fn binary(&mut self, op: BinaryOp, _l: &Value, _r: &Value) -> Result<Value> {
        Err(self.unsupported(format!("`{}` of tensors", op.symbol())))
    }

    /// A comparison where at least one side is a run-time tensor.
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

    /// A unary operator of a run-time tensor.
    ///
    /// # Errors
    /// A type that does not fit.
    pub fn unary(&mut self, op: UnaryOp, _x: &Tensor) -> Result<Value> {
        Err(self.unsupported(format!("`{}` of a tensor", op.symbol())))
    }

    /// A constant as a scalar of the type that Triton gives it (`int32`, else `int64`, …); a tensor as it is.
    ///
    /// # Errors
    /// Values that no tensor holds: strings, functions.
    pub fn to_tensor(&mut self, _value: &Value) -> Result<Tensor> {
        Err(self.unsupported("tensors of constants"))
    }

    /// A condition as one `int1`.
    ///
    /// # Errors
    /// A block of several elements.
    pub fn to_condition(&mut self, _value: &Tensor) -> Result<Tensor> {
        Err(self.unsupported("run-time conditions"))
    }

    /// `x[index]`: `None`, `:`, and for tuples of these.
    ///
    /// # Errors
    /// Indices that blocks do not take.
    pub fn subscript(&mut self, _x: &Tensor, _index: &Value) -> Result<Value> {
        Err(self.unsupported("subscripts of tensors"))
    }
}
