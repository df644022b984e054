//! `triton.language.math`: elementary functions, and the few of `triton.language.standard` made of operators.

use tilescope_ir::OpCode;

use super::args::Operand;
use super::operate::{numbers, operate};
use super::{Bound, builtins, raw_builtins};
use crate::ast::{BinaryOp, UnaryOp};
use crate::cx::{Cx, Result};
use crate::semantic::arith::{Division, Extremum};
use crate::types::Dtype;
use crate::value::{Tensor, Value};
use tilescope_ir::attrs::PropagateNan;

raw_builtins! { ELEMENTARY in "triton.language.math", Method, elementary;
    "exp" "x", "e to the power `x`, of fp32 and fp64.";
    "exp2" "x", "2 to the power `x`, of fp32 and fp64.";
    "log" "x", "The natural logarithm, of fp32 and fp64.";
    "log2" "x", "The logarithm to base two, of fp32 and fp64.";
    "cos" "x", "The cosine, of fp32 and fp64.";
    "sin" "x", "The sine, of fp32 and fp64.";
    "sqrt" "x", "The square root, of fp32 and fp64.";
    "sqrt_rn" "x", "The square root, rounded to nearest, of fp32.";
    "rsqrt" "x", "One over the square root, of fp32 and fp64.";
    "erf" "x", "The error function, of fp32 and fp64.";
    "floor" "x", "The largest integer not above, of fp32 and fp64.";
    "ceil" "x", "The smallest integer not below, of fp32 and fp64.";
}

builtins! { TABLE in "triton.language.math";
    Method "abs" "x" => abs, "The absolute value.";
    Function "fdiv" "x, y, ieee_rounding=False, approx=False" => fdiv, "The quotient of two floats.";
    Function "div_rn" "x, y" => div_rn, "The quotient of two fp32, rounded to nearest.";
    Function "fma" "x, y, z" => fma, "`x * y + z`, rounded once.";
    Function "umulhi" "x, y" => umulhi, "The upper half of the product of two integers.";
}

builtins! { STANDARD in "triton.language";
    Method "cdiv" "x, div" => cdiv, "The quotient rounded up: `(x + (div - 1)) // div`.";
    Method "sigmoid" "x" => sigmoid, "`1 / (1 + exp(-x))`.";
    Method "softmax" "x, dim=None, keep_dims=None, ieee_rounding=False" => softmax,
        "The softmax along a dimension, the first if none is given.";
    Function "swizzle2d" "i, j, size_i, size_j, size_g" => swizzle2d,
        "Row-major indices of a matrix to column-major ones within groups of `size_g` rows.";
}

fn elementary(cx: &mut Cx<'_>, args: &Bound) -> Result<Value> {
    let name = args.builtin.name;
    let (code, dtypes): (OpCode, &[Dtype]) = match name {
        "exp" => (OpCode::Exp, FLOATS),
        "exp2" => (OpCode::Exp2, FLOATS),
        "log" => (OpCode::Log, FLOATS),
        "log2" => (OpCode::Log2, FLOATS),
        "cos" => (OpCode::Cos, FLOATS),
        "sin" => (OpCode::Sin, FLOATS),
        "sqrt" => (OpCode::Sqrt, FLOATS),
        "sqrt_rn" => (OpCode::PreciseSqrt, &[Dtype::Fp32]),
        "rsqrt" => (OpCode::Rsqrt, FLOATS),
        "erf" => (OpCode::Erf, FLOATS),
        "floor" => (OpCode::Floor, FLOATS),
        _ => (OpCode::Ceil, FLOATS),
    };
    cx.math1(name, code, args.arg(0).value, dtypes).map(Value::Tensor)
}

const FLOATS: &[Dtype] = &[Dtype::Fp32, Dtype::Fp64];

fn abs(cx: &mut Cx<'_>, x: Value) -> Result<Tensor> {
    cx.abs(&x)
}

fn fdiv(cx: &mut Cx<'_>, x: Value, y: Value, ieee: bool, approx: bool) -> Result<Tensor> {
    let kind = match (ieee, approx) {
        (true, true) => return Err(cx.error("`ieee_rounding` and `approx` exclude each other")),
        (true, false) => Division::Ieee,
        (false, true) => Division::Approx,
        (false, false) => Division::Plain,
    };
    cx.divide(&x, &y, kind)
}

fn div_rn(cx: &mut Cx<'_>, x: Value, y: Value) -> Result<Tensor> {
    for operand in [&x, &y] {
        if let Value::Tensor(tensor) = operand
            && tensor.ty.dtype() != Some(Dtype::Fp32)
        {
            return Err(cx.error(format!("`div_rn` takes `fp32`, not `{}`", tensor.ty)));
        }
    }
    cx.divide(&x, &y, Division::Ieee)
}

fn fma(cx: &mut Cx<'_>, x: Value, y: Value, z: Value) -> Result<Tensor> {
    cx.fma(&x, &y, &z)
}

fn umulhi(cx: &mut Cx<'_>, x: Value, y: Value) -> Result<Tensor> {
    cx.umulhi(&x, &y)
}

fn cdiv(cx: &mut Cx<'_>, x: Value, div: Value) -> Result<Value> {
    let less = operate(cx, BinaryOp::Sub, &div, &Value::int(1))?;
    let sum = operate(cx, BinaryOp::Add, &x, &less)?;
    operate(cx, BinaryOp::FloorDiv, &sum, &div)
}

fn sigmoid(cx: &mut Cx<'_>, x: Operand) -> Result<Value> {
    let minus = cx.unary(UnaryOp::Neg, &x.0)?;
    let exp = cx.math1("exp", OpCode::Exp, &minus, FLOATS)?;
    let sum = numbers(cx, BinaryOp::Add, &Value::int(1), &exp.into())?;
    numbers(cx, BinaryOp::Div, &Value::int(1), &sum)
}

fn softmax(cx: &mut Cx<'_>, x: Tensor, dim: Option<i64>, keep_dims: Value, ieee: bool) -> Result<Tensor> {
    if !matches!(keep_dims, Value::None) {
        cx.notes
            .push("`tl.softmax` ignores `keep_dims`: the result has the shape of its operand".to_string());
    }
    let axis = Some(dim.unwrap_or(0));
    let max = super::reduce::max_values(cx, &x, axis, true)?;
    let z = numbers(cx, BinaryOp::Sub, &x.into(), &max.into())?;
    let exp = cx.math1("softmax", OpCode::Exp, &z, FLOATS)?;
    let sum = super::reduce::sum_values(cx, &exp, axis, true, None)?;
    let kind = if ieee { Division::Ieee } else { Division::Plain };
    cx.divide(&exp.into(), &sum.into(), kind)
}

fn swizzle2d(
    cx: &mut Cx<'_>,
    i: Value,
    j: Value,
    size_i: Value,
    size_j: Value,
    size_g: Value,
) -> Result<Value> {
    use BinaryOp::{Add, FloorDiv, Mod, Mul, Sub};
    let row = operate(cx, Mul, &i, &size_j)?;
    let ij = operate(cx, Add, &row, &j)?;
    let size_gj = operate(cx, Mul, &size_g, &size_j)?;
    let group = operate(cx, FloorDiv, &ij, &size_gj)?;
    let off_i = operate(cx, Mul, &group, &size_g)?;
    let left = operate(cx, Sub, &size_i, &off_i)?;
    let size_g = cx.extremum(Extremum::Minimum, &left, &size_g, PropagateNan::None)?;
    let size_g = Value::Tensor(size_g);
    let ij = operate(cx, Mod, &ij, &size_gj)?;
    let within = operate(cx, Mod, &ij, &size_g)?;
    let new_i = operate(cx, Add, &off_i, &within)?;
    let new_j = operate(cx, FloorDiv, &ij, &size_g)?;
    Ok(Value::tuple(vec![new_i, new_j]))
}
