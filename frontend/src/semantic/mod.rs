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

use crate::cx::{Cx, Result};
use crate::value::{Tensor, Value};

/// A combine function of reductions and scans: takes the left and then the right values, gives as many as one side.
pub type Combine<'a, 'p> = dyn FnMut(&mut Cx<'p>, Vec<Value>) -> Result<Vec<Value>> + 'a;

impl From<Tensor> for Value {
    fn from(tensor: Tensor) -> Value {
        Value::Tensor(tensor)
    }
}
