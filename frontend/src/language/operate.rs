//! Operators on values of either kind: Python's on two compile-time values, Triton's where one is a tensor.

use super::{Bound, raw_builtins};
use crate::ast::{BinaryOp, CompareOp, UnaryOp};
use crate::cx::{Cx, Result};
use crate::konst;
use crate::value::{Tensor, Value};

raw_builtins! { BINARY in "triton.language.tensor", Method, binary;
    "__add__" "self, other", "`self + other`.";
    "__sub__" "self, other", "`self - other`.";
    "__mul__" "self, other", "`self * other`.";
    "__truediv__" "self, other", "`self / other`.";
    "__floordiv__" "self, other", "`self // other`.";
    "__mod__" "self, other", "`self % other`.";
    "__and__" "self, other", "`self & other`.";
    "__or__" "self, other", "`self | other`.";
    "__xor__" "self, other", "`self ^ other`.";
    "__lshift__" "self, other", "`self << other`.";
    "__rshift__" "self, other", "`self >> other`.";
    "__radd__" "self, other", "`other + self`.";
    "__rsub__" "self, other", "`other - self`.";
    "__rmul__" "self, other", "`other * self`.";
    "__rtruediv__" "self, other", "`other / self`.";
    "__rfloordiv__" "self, other", "`other // self`.";
    "__rmod__" "self, other", "`other % self`.";
    "__rand__" "self, other", "`other & self`.";
    "__ror__" "self, other", "`other | self`.";
    "__rxor__" "self, other", "`other ^ self`.";
    "__rlshift__" "self, other", "`other << self`.";
    "__rrshift__" "self, other", "`other >> self`.";
}

raw_builtins! { COMPARE in "triton.language.tensor", Method, compared;
    "__eq__" "self, other", "`self == other`.";
    "__ne__" "self, other", "`self != other`.";
    "__lt__" "self, other", "`self < other`.";
    "__le__" "self, other", "`self <= other`.";
    "__gt__" "self, other", "`self > other`.";
    "__ge__" "self, other", "`self >= other`.";
}

raw_builtins! { UNARY in "triton.language.tensor", Method, unary;
    "__neg__" "self", "`-self`.";
    "__invert__" "self", "`~self`.";
    "__not__" "self", "`not self`.";
}

fn binary(cx: &mut Cx<'_>, args: &Bound) -> Result<Value> {
    let name = args.builtin.name.trim_matches('_');
    let find = |name: &str| {
        Some(match name {
            "add" => BinaryOp::Add,
            "sub" => BinaryOp::Sub,
            "mul" => BinaryOp::Mul,
            "truediv" => BinaryOp::Div,
            "floordiv" => BinaryOp::FloorDiv,
            "mod" => BinaryOp::Mod,
            "and" => BinaryOp::And,
            "or" => BinaryOp::Or,
            "xor" => BinaryOp::Xor,
            "lshift" => BinaryOp::Shl,
            "rshift" => BinaryOp::Shr,
            _ => return None,
        })
    };
    let (x, y) = (args.arg(0).value, args.arg(1).value);
    match (find(name), name.strip_prefix('r').and_then(find)) {
        (Some(op), _) => operate(cx, op, x, y),
        (None, Some(op)) => operate(cx, op, y, x),
        (None, None) => Err(cx.unsupported(format!("`{}`", args.builtin.name))),
    }
}

fn compared(cx: &mut Cx<'_>, args: &Bound) -> Result<Value> {
    let op = match args.builtin.name {
        "__eq__" => CompareOp::Eq,
        "__ne__" => CompareOp::Ne,
        "__lt__" => CompareOp::Lt,
        "__le__" => CompareOp::Le,
        "__gt__" => CompareOp::Gt,
        _ => CompareOp::Ge,
    };
    cx.compare(op, args.arg(0).value, args.arg(1).value)
}

fn unary(cx: &mut Cx<'_>, args: &Bound) -> Result<Value> {
    let op = match args.builtin.name {
        "__neg__" => UnaryOp::Neg,
        "__invert__" => UnaryOp::Invert,
        _ => UnaryOp::Not,
    };
    let arg = args.arg(0);
    match arg.value {
        Value::Tensor(tensor) => cx.unary(op, tensor),
        _ => Err(arg.mismatch(cx, "a tensor")),
    }
}

/// `l op r`: of two compile-time values as Python has it, else as Triton has it.
pub(super) fn operate(cx: &mut Cx<'_>, op: BinaryOp, l: &Value, r: &Value) -> Result<Value> {
    if l.is_runtime() || r.is_runtime() {
        return cx.binary(op, l, r);
    }
    konst::binary(op, l, r).map_err(|why| cx.error(why))
}

/// `l op r` as Triton computes it, of two constants too: they become tensors.
pub(super) fn numbers(cx: &mut Cx<'_>, op: BinaryOp, l: &Value, r: &Value) -> Result<Value> {
    if l.is_runtime() || r.is_runtime() {
        return cx.binary(op, l, r);
    }
    let l = cx.to_tensor(l)?;
    cx.binary(op, &Value::Tensor(l), r)
}

/// The result of an operator on tensors, as a tensor.
pub(super) fn tensor(cx: &mut Cx<'_>, op: BinaryOp, l: &Value, r: &Value) -> Result<Tensor> {
    match numbers(cx, op, l, r)? {
        Value::Tensor(tensor) => Ok(tensor),
        other => cx.to_tensor(&other),
    }
}
