//! What Triton's operations do with run-time values: conversion of constants, type promotion, broadcasting, and
//! the IR operations that come out.
//!
//! The rules are those of Triton's `language/semantic.py`, versions 3.2 to 3.9. Every method of [`Cx`] here takes
//! values that are already evaluated; nothing here knows syntax. An operand given as a [`Value`] may be a constant
//! (a number or a truth value) or a tensor; one given as a [`Tensor`] is made of a constant by [`Cx::to_tensor`].
//! Constants do not take part in type promotion unless their kind is higher (`x_fp16 + 1.5` stays fp16).
//!
//! Files by family: [`constant`] and [`promote`] come first, all others build on them.

pub mod arith;
pub mod asm;
pub mod atomic;
pub mod block_pointer;
pub mod cast;
pub mod compare;
pub mod constant;
pub mod descriptor;
pub mod dot;
pub mod hint;
pub mod math;
pub mod memory;
pub mod promote;
pub mod reduce;
pub mod shape;
#[cfg(test)]
mod tests;

use tilescope_ir::{Attrs, OpCode, Shape, Type, Values};

use crate::cx::{Cx, Result};
use crate::types::{Dtype, Elem, PtrTy, Ty};
use crate::value::{Tensor, Value};

/// A combine function of reductions and scans: takes the left and then the right values, gives as many as one side.
pub type Combine<'a, 'p> = dyn FnMut(&mut Cx<'p>, Vec<Value>) -> Result<Vec<Value>> + 'a;

impl From<Tensor> for Value {
    fn from(tensor: Tensor) -> Value {
        Value::Tensor(tensor)
    }
}

impl Tensor {
    /// The number type of its elements; none for pointers.
    pub fn dtype(&self) -> Option<Dtype> {
        self.ty.dtype()
    }

    /// The shape of a block; empty for a scalar.
    pub fn shape(&self) -> Shape {
        self.ty.shape().unwrap_or_default()
    }

    /// A block, as against a scalar (and a block pointer).
    pub fn is_block(&self) -> bool {
        matches!(self.ty, Ty::Block(..))
    }

    /// What its elements point to; none if they are no pointers.
    pub fn pointer(&self) -> Option<PtrTy> {
        match self.ty.elem() {
            Some(Elem::Ptr(ptr)) => Some(ptr),
            _ => None,
        }
    }

    /// The same IR value taken as another type of the same representation.
    fn retyped(&self, ty: Ty) -> Tensor {
        Tensor {
            value: self.value,
            ty,
        }
    }
}

impl Cx<'_> {
    /// Appends an operation with one result of this type.
    pub(crate) fn emit(&mut self, code: OpCode, operands: &[&Tensor], attrs: Attrs, ty: Ty) -> Tensor {
        let operands: Values = operands.iter().map(|t| t.value).collect();
        // Only tuples and the like have no IR type, and no operation here makes these.
        let ir = ty.ir().unwrap_or(Type::BOOL);
        let value = self.b.value(code, &operands, attrs, ir);
        Tensor { value, ty }
    }

    /// An element-wise operation without attributes, of the type of its first operand.
    fn elementwise(&mut self, code: OpCode, operands: &[&Tensor]) -> Tensor {
        let ty = operands.first().map_or(Ty::num(Dtype::Int1), |t| t.ty.clone());
        self.emit(code, operands, Attrs::None, ty)
    }

    /// A run-time tensor, for operations that take nothing else; `what` names the argument.
    fn tensor<'v>(&self, value: &'v Value, what: &str) -> Result<&'v Tensor> {
        match value {
            Value::Tensor(tensor) => Ok(tensor),
            other => Err(self.error(format!("{what} is {}, a tensor is needed", other.describe()))),
        }
    }
}
