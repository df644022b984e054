//! `tl.sort`, `tl.topk`, `tl.bitonic_merge`, `tl.flip`: bitonic networks over a hypercube of two per dimension.
//!
//! Batcher's bitonic sorter, and for `topk` the variant of Shanbhag, Pirk and Madden (SIGMOD 2018). Each exchange is
//! Triton's: the partner's bits come by a xor-sum over the pair, and elements swap where `x > y` differs from the
//! wanted order; so ties, NaN and signed zeros go where Triton puts them.

use super::args::FromArg;
use super::core::{dims_of, reshape_to};
use super::reduce::{max_values, min_values, xor_sum};
use super::types::int_dtype;
use super::{Bound, builtins, raw_builtins};
use crate::ast::{BinaryOp, CompareOp};
use crate::cx::{Cx, Result};
use crate::types::{Dtype, Elem};
use crate::value::{Tensor, Value};

builtins! { TABLE in "triton.language";
    Method "flip" "x, dim=None" => flip, "The elements in reverse order along a dimension, the last if none is given.";
    Function "topk" "x, k, dim=None, descending=True" => topk,
        "The `k` largest elements along the last dimension, in order.";
}

raw_builtins! { SORTS in "triton.language", Method, sorted;
    "sort" "x, dim=None, descending=0", "The elements along the last dimension in order.";
}

raw_builtins! { MERGES in "triton.language", Function, sorted;
    "bitonic_merge" "x, dim=None, descending=0", "A bitonic sequence along the last dimension put in order.";
}

builtins! { IMPL in "triton.language.standard";
    Function "sort_impl" "x, k=None, dim=None, descending=0" => sort_impl, "What `sort` and `topk` are made of.";
}

/// Which way the pairs of a stage are ordered.
#[derive(Debug, Clone, Copy)]
enum Order {
    Ascending,
    Descending,
    /// By a bit of the position: every other run the other way.
    Alternating,
}

impl Order {
    fn of(descending: bool) -> Order {
        if descending {
            Order::Descending
        } else {
            Order::Ascending
        }
    }
}

/// 0 and 1 along the `j`-th innermost of `rank` dimensions of two.
fn indicator(cx: &mut Cx<'_>, rank: usize, j: usize) -> Result<Tensor> {
    let pair = cx.arange(&Value::int(0), &Value::int(2))?;
    let mut dims = vec![1; rank];
    if let Some(dim) = rank.checked_sub(j + 1).and_then(|at| dims.get_mut(at)) {
        *dim = 2;
    }
    reshape_to(cx, &pair, &dims)
}

/// The signed integers with the bits of a tensor.
fn bits_of(cx: &mut Cx<'_>, x: &Tensor) -> Result<Tensor> {
    let dtype =
        x.ty.dtype()
            .and_then(|dtype| int_dtype(i64::from(dtype.bits()), true));
    match dtype {
        Some(dtype) => cx.bitcast(x, Elem::Num(dtype)),
        None => Err(cx.error(format!("`{}` has no order", x.ty))),
    }
}

/// The other element of each pair along a dimension of two.
fn partner(cx: &mut Cx<'_>, bits: &Tensor, axis: usize) -> Result<Tensor> {
    let both = xor_sum(
        cx,
        bits.clone(),
        Some(i64::try_from(axis).unwrap_or(i64::MAX)),
        true,
    )?;
    super::operate::tensor(cx, BinaryOp::Xor, &bits.clone().into(), &both.into())
}

fn compare_and_swap(cx: &mut Cx<'_>, x: &Tensor, flip: &Value, i: usize) -> Result<Tensor> {
    let rank = dims_of(x).len();
    let elem = cx.elem_of(x)?;
    let bits = bits_of(cx, x)?;
    let other = partner(cx, &bits, rank.saturating_sub(i + 1))?;
    let y = cx.bitcast(&other, elem)?;
    let right = indicator(cx, rank, i)?;
    let out_of_order = cx.compare(CompareOp::Gt, &x.clone().into(), &y.clone().into())?;
    let wanted = super::operate::tensor(cx, BinaryOp::Xor, flip, &right.into())?;
    let wanted = cx.cast(&wanted, Elem::Num(Dtype::Int1), None)?;
    let swap = cx.compare(CompareOp::Ne, &out_of_order, &wanted.into())?;
    cx.where_(&swap, &y.into(), &x.clone().into())
}

fn merge(cx: &mut Cx<'_>, x: Tensor, stage: usize, order: Order) -> Result<Tensor> {
    let flip = match order {
        Order::Ascending => Value::int(0),
        Order::Descending => Value::int(1),
        Order::Alternating => indicator(cx, dims_of(&x).len(), stage)?.into(),
    };
    let mut x = x;
    for i in 0..stage {
        x = compare_and_swap(cx, &x, &flip, stage - 1 - i)?;
    }
    Ok(x)
}

fn log2(dim: i64) -> usize {
    u64::try_from(dim).ok().and_then(u64::checked_ilog2).unwrap_or(0) as usize
}

/// The last dimension's size; other dimensions are refused, as by Triton.
fn last_dim(cx: &Cx<'_>, dims: &[i64], dim: Option<i64>) -> Result<i64> {
    let rank = i64::try_from(dims.len()).unwrap_or(i64::MAX);
    match dims.last() {
        Some(last) if dim.is_none_or(|dim| dim == rank - 1) => Ok(*last),
        Some(_) => Err(cx.error("only the last dimension can be sorted")),
        None => Err(cx.error("a scalar has no dimension to sort")),
    }
}

fn sort_impl(
    cx: &mut Cx<'_>,
    x: Tensor,
    k: Option<i64>,
    dim: Option<i64>,
    descending: bool,
) -> Result<Tensor> {
    let mut dims = dims_of(&x);
    let size = last_dim(cx, &dims, dim)?;
    if let Some(k) = k
        && (k < 1 || k > size || k & (k - 1) != 0)
    {
        let message =
            format!("`k` must be a power of two from 1 to {size}, the size of the dimension, not {k}");
        return Err(cx.error(message));
    }
    let log_n = log2(size);
    let log_k = k.map_or(log_n, log2);
    let extreme = if descending { max_values } else { min_values };
    if log_k == 0 {
        return extreme(cx, &x, Some(i64::try_from(dims.len()).unwrap_or(1) - 1), true);
    }
    let order = |i: usize| {
        if i < log_n {
            Order::Alternating
        } else {
            Order::of(descending)
        }
    };
    let count = log2(dims.iter().product());
    let mut h = reshape_to(cx, &x, &vec![2; count])?;
    for i in 1..=log_k {
        h = merge(cx, h, i, order(i))?;
    }
    for i in log_k + 1..=log_n {
        let rank = dims_of(&h).len();
        let axis = i64::try_from(rank.saturating_sub(1 + log_k)).unwrap_or(0);
        h = extreme(cx, &h, Some(axis), false)?;
        h = merge(cx, h, log_k, order(i))?;
    }
    if let Some(last) = dims.last_mut() {
        *last = 1 << log_k;
    }
    reshape_to(cx, &h, &dims)
}

fn topk(cx: &mut Cx<'_>, x: Tensor, k: i64, dim: Option<i64>, descending: bool) -> Result<Tensor> {
    sort_impl(cx, x, Some(k), dim, descending)
}

fn sorted(cx: &mut Cx<'_>, args: &Bound) -> Result<Value> {
    let x = Tensor::from_arg(cx, args.arg(0))?;
    let dim = Option::<i64>::from_arg(cx, args.arg(1))?;
    let descending = bool::from_arg(cx, args.arg(2))?;
    if args.builtin.name == "sort" {
        return sort_impl(cx, x, None, dim, descending).map(Value::from);
    }
    let dims = dims_of(&x);
    let stage = log2(last_dim(cx, &dims, dim)?);
    let count = log2(dims.iter().product());
    let h = reshape_to(cx, &x, &vec![2; count])?;
    let h = merge(cx, h, stage, Order::of(descending))?;
    reshape_to(cx, &h, &dims).map(Value::from)
}

fn flip(cx: &mut Cx<'_>, x: Tensor, dim: Option<i64>) -> Result<Tensor> {
    let dims = dims_of(&x);
    if dims.is_empty() {
        return Err(cx.error("a scalar has no dimension to flip"));
    }
    let axis = cx.axis_of(&Value::int(dim.unwrap_or(-1)), dims.len())?;
    let steps = log2(dims.get(axis).copied().unwrap_or(1));
    let elem = cx.elem_of(&x)?;
    let mut split = dims.clone();
    split.splice(axis..=axis, std::iter::repeat_n(2, steps));
    if split.is_empty() {
        return Ok(x);
    }
    let bits = bits_of(cx, &x)?;
    let mut y = reshape_to(cx, &bits, &split)?;
    for step in 0..steps {
        y = partner(cx, &y, axis + step)?;
    }
    let y = reshape_to(cx, &y, &dims)?;
    cx.bitcast(&y, elem)
}
