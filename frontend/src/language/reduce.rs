//! Reductions and scans: `tl.reduce` with any function, and Triton's own built on it.
//!
//! What is combined how is `triton/language/standard.py`'s: which types are widened first, how ties are broken,
//! what NaN does. Triton's combine functions (`tl.standard._sum_combine`, …) are rows too, for kernels that pass
//! them to `tl.reduce`.

use tilescope_ir::attrs::PropagateNan;

use super::args::{Arg, Callable, FromArg, Operand, Tensors};
use super::operate::numbers;
use super::types::is_signed;
use super::{Bound, builtins, raw_builtins};
use crate::ast::{BinaryOp, BoolOp, CompareOp};
use crate::cx::{Args, Cx, Result};
use crate::semantic::arith::Extremum;
use crate::types::{Dtype, Elem};
use crate::value::{Tensor, Value};

builtins! { GENERAL in "triton.language";
    Method "reduce" "input, axis, combine_fn, keep_dims=False" => reduce,
        "The elements along an axis combined by a function; of all axes for `None`.";
    Method "associative_scan" "input, axis, combine_fn, reverse=False" => associative_scan,
        "The running combination along an axis.";
    Function "map_elementwise" "scalar_fn, *args, pack=1" => map_elementwise,
        "A function of numbers mapped over the lanes of tensors.";
    Function "_reduce_with_indices" "input, axis, combine_fn, keep_dims=False" => reduce_with_indices,
        "Values with their positions along an axis, combined by a function.";
    Method "histogram" "input, num_bins, mask=None" => histogram, "How many elements are 0, 1, 2, ….";
    Method "gather" "src, index, axis" => gather, "Elements by their position along an axis.";
}

builtins! { STANDARD in "triton.language";
    Method "sum" "input, axis=None, keep_dims=False, dtype=None" => sum,
        "The sum along an axis; integers of fewer than 32 bits are widened.";
    Method "xor_sum" "input, axis=None, keep_dims=False" => xor_sum, "Exclusive or along an axis, of integers.";
    Method "reduce_or" "input, axis, keep_dims=False" => reduce_or, "Bitwise or along an axis, of integers.";
    Method "cumsum" "input, axis=0, reverse=False, dtype=None" => cumsum, "The running sum along an axis.";
    Method "cumprod" "input, axis=0, reverse=False, dtype=None" => cumprod, "The running product along an axis.";
}

raw_builtins! { EXTREMA in "triton.language", Method, extremum;
    "max" "input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False",
        "The largest element along an axis, and where it stands if asked.";
    "min" "input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False",
        "The smallest element along an axis, and where it stands if asked.";
}

raw_builtins! { POSITIONS in "triton.language", Method, position;
    "argmax" "input, axis, tie_break_left=True, keep_dims=False", "Where the largest element along an axis stands.";
    "argmin" "input, axis, tie_break_left=True, keep_dims=False", "Where the smallest element along an axis stands.";
}

raw_builtins! { COMBINE in "triton.language.standard", Function, combine_two;
    "_sum_combine" "a, b", "`a + b`: what `tl.sum` combines with.";
    "_prod_combine" "a, b", "`a * b`: what `tl.cumprod` combines with.";
    "_xor_combine" "a, b", "`a ^ b`: what `tl.xor_sum` combines with.";
    "_or_combine" "x, y", "`x | y`: what `tl.reduce_or` combines with.";
    "_elementwise_max" "a, b", "The larger of two: what `tl.max` combines with.";
    "_elementwise_min" "a, b", "The smaller of two: what `tl.min` combines with.";
}

raw_builtins! { COMBINE_INDEXED in "triton.language.standard", Function, combine_indexed;
    "_argmax_combine_tie_break_left" "value1, index1, value2, index2", "The larger value with its index; of equal ones the left.";
    "_argmax_combine_tie_break_fast" "value1, index1, value2, index2", "The larger value with its index.";
    "_argmin_combine_tie_break_left" "value1, index1, value2, index2", "The smaller value with its index; of equal ones the left.";
    "_argmin_combine_tie_break_fast" "value1, index1, value2, index2", "The smaller value with its index.";
}

/// The results of a combine function as a list.
fn results(value: Value) -> Vec<Value> {
    match value {
        Value::Tuple(tuple) => tuple.items.to_vec(),
        single => vec![single],
    }
}

fn one_or_tuple(tensors: Vec<Tensor>, is_tuple: bool) -> Value {
    match <[Tensor; 1]>::try_from(tensors) {
        Ok([single]) if !is_tuple => single.into(),
        Ok(single) => Value::from(Vec::from(single)),
        Err(tensors) => tensors.into(),
    }
}

fn reduce<'p>(
    cx: &mut Cx<'p>,
    input: Tensors,
    axis: Option<i64>,
    f: Callable,
    keep_dims: bool,
) -> Result<Value> {
    let span = cx.place.span;
    let mut combine =
        |cx: &mut Cx<'p>, values: Vec<Value>| cx.call(&f.0, Args::of(values, span)).map(results);
    let out = cx.reduce(&input.items, axis, keep_dims, &mut combine)?;
    Ok(one_or_tuple(out, input.is_tuple))
}

fn associative_scan<'p>(
    cx: &mut Cx<'p>,
    input: Tensors,
    axis: i64,
    f: Callable,
    reverse: bool,
) -> Result<Value> {
    let span = cx.place.span;
    let mut combine =
        |cx: &mut Cx<'p>, values: Vec<Value>| cx.call(&f.0, Args::of(values, span)).map(results);
    let out = cx.associative_scan(&input.items, axis, reverse, &mut combine)?;
    Ok(one_or_tuple(out, input.is_tuple))
}

fn map_elementwise<'p>(cx: &mut Cx<'p>, f: Callable, args: Vec<Value>, pack: i64) -> Result<Value> {
    let Some(pack) = u32::try_from(pack).ok().filter(|pack| *pack >= 1) else {
        return Err(cx.error(format!("`pack` must be at least 1, not {pack}")));
    };
    let mut inputs = Vec::new();
    for arg in &args {
        match arg {
            Value::Tensor(tensor) => inputs.push(tensor.clone()),
            other => {
                return Err(cx.error(format!(
                    "`tl.map_elementwise` maps over tensors, not {}",
                    other.describe()
                )));
            }
        }
    }
    let span = cx.place.span;
    let mut single = false;
    let mut function = |cx: &mut Cx<'p>, values: Vec<Value>| {
        let value = cx.call(&f.0, Args::of(values, span))?;
        single = !matches!(value, Value::Tuple(_));
        Ok(results(value))
    };
    let out = cx.map_elementwise(&inputs, pack, &mut function)?;
    Ok(one_or_tuple(out, !single))
}

fn reduce_with_indices<'p>(
    cx: &mut Cx<'p>,
    input: Tensor,
    axis: Option<i64>,
    f: Callable,
    keep_dims: bool,
) -> Result<(Tensor, Tensor)> {
    let span = cx.place.span;
    let mut combine =
        |cx: &mut Cx<'p>, values: Vec<Value>| cx.call(&f.0, Args::of(values, span)).map(results);
    cx.reduce_with_indices(&input, axis, keep_dims, &mut combine)
}

fn histogram(cx: &mut Cx<'_>, input: Tensor, bins: i64, mask: Value) -> Result<Tensor> {
    match u64::try_from(bins) {
        Ok(bins) => cx.histogram(&input, bins, &mask),
        Err(_) => Err(cx.error(format!("a histogram cannot have {bins} bins"))),
    }
}

fn gather(cx: &mut Cx<'_>, src: Tensor, index: Tensor, axis: i64) -> Result<Tensor> {
    cx.gather(&src, &index, axis)
}

/// The type in which a sum is computed: `int32` or `uint32` for narrower integers.
fn sum_type(cx: &Cx<'_>, x: &Tensor, dtype: Option<Elem>) -> Result<Elem> {
    if let Some(dtype) = dtype {
        return Ok(dtype);
    }
    Ok(match cx.elem_of(x)? {
        Elem::Num(dtype) if dtype.is_int() && dtype.bits() < 32 => Elem::Num(if is_signed(dtype) {
            Dtype::Int32
        } else {
            Dtype::Uint32
        }),
        elem => elem,
    })
}

/// Combines along an axis by an operator.
fn fold<'p>(cx: &mut Cx<'p>, x: &Tensor, axis: Option<i64>, keep_dims: bool, op: BinaryOp) -> Result<Tensor> {
    let mut combine = |cx: &mut Cx<'p>, values: Vec<Value>| by_operator(cx, op, &values);
    let out = cx.reduce(std::slice::from_ref(x), axis, keep_dims, &mut combine)?;
    first(cx, out)
}

fn by_operator(cx: &mut Cx<'_>, op: BinaryOp, values: &[Value]) -> Result<Vec<Value>> {
    match values {
        [a, b] => Ok(vec![numbers(cx, op, a, b)?]),
        _ => Err(cx.error("a combine function of one value gets two")),
    }
}

fn first(cx: &Cx<'_>, out: Vec<Tensor>) -> Result<Tensor> {
    out.into_iter()
        .next()
        .ok_or_else(|| cx.error("a reduction without results"))
}

pub(super) fn sum_values(
    cx: &mut Cx<'_>,
    x: &Tensor,
    axis: Option<i64>,
    keep_dims: bool,
    dtype: Option<Elem>,
) -> Result<Tensor> {
    let to = sum_type(cx, x, dtype)?;
    let x = cx.cast(x, to, None)?;
    fold(cx, &x, axis, keep_dims, BinaryOp::Add)
}

fn sum(
    cx: &mut Cx<'_>,
    x: Tensor,
    axis: Option<i64>,
    keep_dims: bool,
    dtype: Option<Elem>,
) -> Result<Tensor> {
    sum_values(cx, &x, axis, keep_dims, dtype)
}

fn need_integers(cx: &Cx<'_>, name: &str, x: &Tensor) -> Result<()> {
    match x.ty.dtype() {
        Some(dtype) if dtype.is_int() => Ok(()),
        _ => Err(cx.error(format!("`tl.{name}` combines integers, not `{}`", x.ty))),
    }
}

pub(super) fn xor_sum(cx: &mut Cx<'_>, x: Tensor, axis: Option<i64>, keep_dims: bool) -> Result<Tensor> {
    need_integers(cx, "xor_sum", &x)?;
    fold(cx, &x, axis, keep_dims, BinaryOp::Xor)
}

fn reduce_or(cx: &mut Cx<'_>, x: Tensor, axis: Option<i64>, keep_dims: bool) -> Result<Tensor> {
    need_integers(cx, "reduce_or", &x)?;
    fold(cx, &x, axis, keep_dims, BinaryOp::Or)
}

fn running<'p>(
    cx: &mut Cx<'p>,
    x: &Tensor,
    axis: i64,
    reverse: bool,
    dtype: Option<Elem>,
    op: BinaryOp,
) -> Result<Tensor> {
    let to = sum_type(cx, x, dtype)?;
    let x = cx.cast(x, to, None)?;
    let mut combine = |cx: &mut Cx<'p>, values: Vec<Value>| by_operator(cx, op, &values);
    let out = cx.associative_scan(&[x], axis, reverse, &mut combine)?;
    first(cx, out)
}

fn cumsum(cx: &mut Cx<'_>, x: Tensor, axis: i64, reverse: bool, dtype: Option<Elem>) -> Result<Tensor> {
    running(cx, &x, axis, reverse, dtype, BinaryOp::Add)
}

fn cumprod(cx: &mut Cx<'_>, x: Tensor, axis: i64, reverse: bool, dtype: Option<Elem>) -> Result<Tensor> {
    running(cx, &x, axis, reverse, dtype, BinaryOp::Mul)
}

/// The larger or smaller elements along an axis: narrower numbers are widened to 32 bits first.
fn extreme_values<'p>(
    cx: &mut Cx<'p>,
    kind: Extremum,
    x: &Tensor,
    axis: Option<i64>,
    keep_dims: bool,
) -> Result<Tensor> {
    let x = match cx.elem_of(x)? {
        Elem::Num(dtype) if dtype.bits() < 32 => {
            let to = if dtype.is_float() {
                Dtype::Fp32
            } else {
                Dtype::Int32
            };
            cx.cast(x, Elem::Num(to), None)?
        }
        Elem::Num(_) => x.clone(),
        Elem::Ptr(_) => return Err(cx.error(format!("`{}` has no largest or smallest element", x.ty))),
    };
    let mut combine = |cx: &mut Cx<'p>, values: Vec<Value>| match values.as_slice() {
        [a, b] => Ok(vec![cx.extremum(kind, a, b, PropagateNan::None)?.into()]),
        _ => Err(cx.error("a combine function of one value gets two")),
    };
    let out = cx.reduce(&[x], axis, keep_dims, &mut combine)?;
    first(cx, out)
}

pub(super) fn max_values(cx: &mut Cx<'_>, x: &Tensor, axis: Option<i64>, keep_dims: bool) -> Result<Tensor> {
    extreme_values(cx, Extremum::Maximum, x, axis, keep_dims)
}

pub(super) fn min_values(cx: &mut Cx<'_>, x: &Tensor, axis: Option<i64>, keep_dims: bool) -> Result<Tensor> {
    extreme_values(cx, Extremum::Minimum, x, axis, keep_dims)
}

/// The value that wins with its index: `value1 > value2`, or equal and the lower index.
fn winner(cx: &mut Cx<'_>, kind: Extremum, left: bool, values: &[Value]) -> Result<Vec<Value>> {
    let [value1, index1, value2, index2] = values else {
        return Err(cx.error("a combine function of a value and its index gets two of each"));
    };
    let op = match kind {
        Extremum::Maximum => CompareOp::Gt,
        Extremum::Minimum => CompareOp::Lt,
    };
    let tie = if left {
        let equal = cx.compare(CompareOp::Eq, value1, value2)?;
        let before = cx.compare(CompareOp::Lt, index1, index2)?;
        Some(cx.logic(BoolOp::And, &equal, &before)?)
    } else {
        None
    };
    let mut wins = cx.compare(op, value1, value2)?;
    if let Some(tie) = tie {
        wins = cx.logic(BoolOp::Or, &wins, &tie)?;
    }
    let value = cx.where_(&wins, value1, value2)?;
    let index = cx.where_(&wins, index1, index2)?;
    Ok(vec![value.into(), index.into()])
}

fn with_indices<'p>(
    cx: &mut Cx<'p>,
    kind: Extremum,
    x: &Tensor,
    axis: Option<i64>,
    left: bool,
    keep_dims: bool,
) -> Result<(Tensor, Tensor)> {
    let mut combine = |cx: &mut Cx<'p>, values: Vec<Value>| winner(cx, kind, left, &values);
    cx.reduce_with_indices(x, axis, keep_dims, &mut combine)
}

fn kind_of(args: &Bound) -> Extremum {
    if args.builtin.name.contains("max") {
        Extremum::Maximum
    } else {
        Extremum::Minimum
    }
}

/// An optional compile-time axis.
fn axis(cx: &mut Cx<'_>, arg: Arg<'_>) -> Result<Option<i64>> {
    Option::<i64>::from_arg(cx, arg)
}

fn extremum(cx: &mut Cx<'_>, args: &Bound) -> Result<Value> {
    let x = Tensor::from_arg(cx, args.arg(0))?;
    let axis = axis(cx, args.arg(1))?;
    let return_indices = bool::from_arg(cx, args.arg(2))?;
    let left = bool::from_arg(cx, args.arg(3))?;
    let keep_dims = bool::from_arg(cx, args.arg(4))?;
    if return_indices {
        return with_indices(cx, kind_of(args), &x, axis, left, keep_dims).map(Value::from);
    }
    extreme_values(cx, kind_of(args), &x, axis, keep_dims).map(Value::from)
}

fn position(cx: &mut Cx<'_>, args: &Bound) -> Result<Value> {
    let x = Tensor::from_arg(cx, args.arg(0))?;
    let axis = axis(cx, args.arg(1))?;
    let left = bool::from_arg(cx, args.arg(2))?;
    let keep_dims = bool::from_arg(cx, args.arg(3))?;
    let (_, index) = with_indices(cx, kind_of(args), &x, axis, left, keep_dims)?;
    Ok(index.into())
}

fn combine_two(cx: &mut Cx<'_>, args: &Bound) -> Result<Value> {
    let a = Operand::from_arg(cx, args.arg(0))?.0.into();
    let b = Operand::from_arg(cx, args.arg(1))?.0.into();
    let op = match args.builtin.name {
        "_sum_combine" => BinaryOp::Add,
        "_prod_combine" => BinaryOp::Mul,
        "_xor_combine" => BinaryOp::Xor,
        "_or_combine" => BinaryOp::Or,
        _ => {
            return cx
                .extremum(kind_of(args), &a, &b, PropagateNan::None)
                .map(Value::from);
        }
    };
    numbers(cx, op, &a, &b)
}

fn combine_indexed(cx: &mut Cx<'_>, args: &Bound) -> Result<Value> {
    let left = args.builtin.name.ends_with("left");
    winner(cx, kind_of(args), left, &args.values).map(Value::tuple)
}
