//! `triton.language.core`: grid, making and reshaping tensors, casts, selection.

use tilescope_ir::Shape;
use tilescope_ir::attrs::PropagateNan;

use super::args::{Arg, FromArg, Ints, Operand};
use super::operate::numbers;
use super::{Builtin, builtins, slips};
use crate::ast::{BinaryOp, BoolOp};
use crate::cx::{Cx, Result};
use crate::semantic::arith::Extremum;
use crate::types::{Elem, Ty};
use crate::value::{Instance, Tensor, Value};
use std::rc::Rc;

builtins! { GRID in "triton.language";
    Function "program_id" "axis" => program_id, "This program's index along an axis of the grid: 0, 1 or 2.";
    Function "num_programs" "axis" => num_programs, "The number of programs along an axis of the grid.";
}

builtins! { MAKING in "triton.language";
    Function "arange" "start, end" => arange, "The integers from `start` to before `end`, as many as a power of two.";
    Function "full" "shape, value, dtype" => full, "One value in all lanes.";
    Function "zeros" "shape, dtype" => zeros, "Zero in all lanes.";
    Function "zeros_like" "input" => zeros_like, "Zeros of the shape and type of another tensor.";
    Function "to_tensor" "x" => to_tensor, "A number as a scalar tensor; a tensor as it is.";
    Function "where" "condition, x, y" => where_, "Lane by lane `x` where the condition holds, else `y`.";
    Function "expect_zero" "x, mask" => expect_zero, "`x`, said to be zero wherever the mask holds; nothing is checked here.";
}

builtins! { SHAPES in "triton.language";
    Function "broadcast" "input, other" => broadcast, "Two tensors in their common shape.";
    Method "broadcast_to" "input, *shape" => broadcast_to, "Dimensions of one repeated to fill a shape.";
    Method "reshape" "input, *shape, can_reorder=False" => reshape, "The same elements in another shape.";
    Method "view" "input, *shape" => view, "As `reshape`, where the elements may come in any order; here row-major.";
    Method "trans" "input, *dims" => permute, "The dimensions permuted; without `dims` the last two swapped.";
    Method "permute" "input, *dims" => permute, "The dimensions permuted.";
    Method "expand_dims" "input, axis" => expand_dims, "Dimensions of one put in.";
    Function "squeeze" "x, dim" => squeeze, "A dimension of one taken out.";
    Function "unsqueeze" "x, dim" => unsqueeze, "A dimension of one put in.";
    Method "ravel" "x, can_reorder=False" => ravel, "All elements in one dimension.";
    Function "join" "a, b" => join, "Two tensors along a new last dimension.";
    Method "split" "a" => split, "The two halves of a last dimension of two.";
    Function "cat" "input, other, can_reorder=False, dim=0" => cat, "Two blocks one after the other.";
    Function "interleave" "a, b" => interleave, "The elements of two tensors in turn, along the last dimension.";
    Method "item" "input" => item, "The element of a block of one.";
    Function "_unsplat" "x" => item, "The element of a block of one.";
}

builtins! { CASTS in "triton.language";
    Method "cast" "input, dtype, fp_downcast_rounding=None, bitcast=False" => cast,
        "The numbers in another type, or the same bits as another type.";
}

builtins! { OPERATORS in "triton.language";
    Function "add" "x, y, sanitize_overflow=True" => add, "`x + y`.";
    Function "sub" "x, y, sanitize_overflow=True" => sub, "`x - y`.";
    Function "mul" "x, y, sanitize_overflow=True" => mul, "`x * y`.";
    Function "minimum" "x, y, propagate_nan=PropagateNan.NONE" => minimum, "The smaller of two, lane by lane.";
    Function "maximum" "x, y, propagate_nan=PropagateNan.NONE" => maximum, "The larger of two, lane by lane.";
    Function "clamp" "x, min, max, propagate_nan=PropagateNan.NONE" => clamp, "`x` kept between two bounds.";
    Function "aggregate_replace" "instance, **changes" => aggregate_replace,
        "A copy of an aggregate with some fields changed.";
}

builtins! { TENSOR_METHODS in "triton.language.tensor";
    Method "to" "self, dtype, fp_downcast_rounding=None, bitcast=False" => cast, "As `cast`.";
    Method "logical_and" "self, other" => logical_and, "`and` of truth values, lane by lane.";
    Method "logical_or" "self, other" => logical_or, "`or` of truth values, lane by lane.";
}

/// A block's shape: a tuple or list of powers of two, or each as an argument of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block(pub Shape);

impl FromArg for Block {
    fn from_arg(cx: &mut Cx<'_>, arg: Arg<'_>) -> Result<Self> {
        let ints = Ints::from_arg(cx, arg)?;
        let dims = Value::tuple(ints.0.into_iter().map(Value::int).collect());
        let outer = cx.place.span;
        cx.place.span = arg.span.unwrap_or(outer);
        let shape = cx.shape_of(&dims);
        cx.place.span = outer;
        shape.map(Block)
    }
}

impl FromArg for PropagateNan {
    fn from_arg(cx: &mut Cx<'_>, arg: Arg<'_>) -> Result<Self> {
        let member = |row: &Builtin, name| row.is("triton.language.PropagateNan", name);
        match arg.value {
            Value::Builtin(row) if member(row, "NONE") => Ok(PropagateNan::None),
            Value::Builtin(row) if member(row, "ALL") => Ok(PropagateNan::All),
            _ => Err(arg.mismatch(cx, "`tl.PropagateNan.NONE` or `tl.PropagateNan.ALL`")),
        }
    }
}

impl FromArg for Elem {
    fn from_arg(cx: &mut Cx<'_>, arg: Arg<'_>) -> Result<Self> {
        match arg.value {
            Value::Type(Ty::Scalar(elem) | Ty::Block(_, elem)) => Ok(*elem),
            other => {
                let error = arg.mismatch(cx, "a type of numbers or pointers, such as `tl.float32`");
                match other {
                    Value::Str(text) => match slips::type_named(text) {
                        Some(write) => Err(error.help(write)),
                        None => Err(error),
                    },
                    _ => Err(error),
                }
            }
        }
    }
}

fn program_id(cx: &mut Cx<'_>, axis: Value) -> Result<Tensor> {
    cx.program_id(&axis)
}

fn num_programs(cx: &mut Cx<'_>, axis: Value) -> Result<Tensor> {
    cx.num_programs(&axis)
}

fn arange(cx: &mut Cx<'_>, start: Value, end: Value) -> Result<Tensor> {
    cx.arange(&start, &end)
}

fn full(cx: &mut Cx<'_>, shape: Block, value: Value, dtype: Elem) -> Result<Tensor> {
    cx.full(shape.0, &value, dtype)
}

fn zeros(cx: &mut Cx<'_>, shape: Block, dtype: Elem) -> Result<Tensor> {
    cx.full(shape.0, &Value::int(0), dtype)
}

fn zeros_like(cx: &mut Cx<'_>, input: Tensor) -> Result<Tensor> {
    let elem = cx.elem_of(&input)?;
    cx.full(input.ty.shape().unwrap_or_default(), &Value::int(0), elem)
}

fn to_tensor(_: &mut Cx<'_>, x: Operand) -> Result<Tensor> {
    Ok(x.0)
}

fn where_(cx: &mut Cx<'_>, condition: Value, x: Value, y: Value) -> Result<Tensor> {
    cx.where_(&condition, &x, &y)
}

fn expect_zero(_: &mut Cx<'_>, x: Value, _mask: Value) -> Result<Value> {
    Ok(x)
}

fn broadcast(cx: &mut Cx<'_>, input: Operand, other: Operand) -> Result<(Tensor, Tensor)> {
    cx.broadcast_pair(&input.0, &other.0)
}

fn broadcast_to(cx: &mut Cx<'_>, input: Operand, shape: Block) -> Result<Tensor> {
    cx.broadcast_to(&input.0, shape.0)
}

fn reshape(cx: &mut Cx<'_>, input: Operand, shape: Block, can_reorder: bool) -> Result<Tensor> {
    cx.reshape(&input.0, shape.0, can_reorder)
}

fn view(cx: &mut Cx<'_>, input: Operand, shape: Block) -> Result<Tensor> {
    cx.reshape(&input.0, shape.0, true)
}

fn permute(cx: &mut Cx<'_>, input: Tensor, dims: Ints) -> Result<Tensor> {
    cx.permute(&input, &dims.0)
}

fn expand_dims(cx: &mut Cx<'_>, input: Operand, axis: Ints) -> Result<Tensor> {
    cx.expand_dims(&input.0, &axis.0)
}

/// The dimensions of a tensor; none for a scalar.
pub(super) fn dims_of(x: &Tensor) -> Vec<i64> {
    match &x.ty {
        Ty::Block(shape, _) => shape
            .dims()
            .map(|d| i64::try_from(d).unwrap_or(i64::MAX))
            .collect(),
        _ => Vec::new(),
    }
}

/// Reshapes to dimensions that are known to be powers of two.
pub(super) fn reshape_to(cx: &mut Cx<'_>, x: &Tensor, dims: &[i64]) -> Result<Tensor> {
    let dims = Value::tuple(dims.iter().map(|&d| Value::int(d)).collect());
    let shape = cx.shape_of(&dims)?;
    cx.reshape(x, shape, false)
}

fn squeeze(cx: &mut Cx<'_>, x: Tensor, dim: i64) -> Result<Tensor> {
    let mut dims = dims_of(&x);
    let axis = cx.axis_of(&Value::int(dim), dims.len())?;
    if dims.get(axis) != Some(&1) {
        return Err(cx.error(format!("dimension {dim} of `{}` is not one", x.ty)));
    }
    dims.remove(axis);
    reshape_to(cx, &x, &dims)
}

fn unsqueeze(cx: &mut Cx<'_>, x: Tensor, dim: i64) -> Result<Tensor> {
    let mut dims = dims_of(&x);
    let axis = cx.axis_of(&Value::int(dim), dims.len() + 1)?;
    dims.insert(axis, 1);
    reshape_to(cx, &x, &dims)
}

fn ravel(cx: &mut Cx<'_>, x: Tensor, can_reorder: bool) -> Result<Tensor> {
    let count = Value::int(dims_of(&x).iter().product::<i64>());
    let shape = cx.shape_of(&Value::tuple(vec![count]))?;
    cx.reshape(&x, shape, can_reorder)
}

fn join(cx: &mut Cx<'_>, a: Operand, b: Operand) -> Result<Tensor> {
    cx.join(&a.0, &b.0)
}

fn split(cx: &mut Cx<'_>, a: Tensor) -> Result<(Tensor, Tensor)> {
    cx.split(&a)
}

fn cat(cx: &mut Cx<'_>, input: Tensor, other: Tensor, can_reorder: bool, dim: i64) -> Result<Tensor> {
    cx.cat(&input, &other, can_reorder, dim)
}

fn interleave(cx: &mut Cx<'_>, a: Operand, b: Operand) -> Result<Tensor> {
    let joined = cx.join(&a.0, &b.0)?;
    let mut dims = dims_of(&joined);
    if dims.len() == 1 {
        return Ok(joined);
    }
    dims.pop();
    if let Some(last) = dims.last_mut() {
        *last *= 2;
    }
    reshape_to(cx, &joined, &dims)
}

fn item(cx: &mut Cx<'_>, input: Operand) -> Result<Tensor> {
    cx.unsplat(&input.0)
}

fn cast(cx: &mut Cx<'_>, x: Operand, to: Elem, rounding: Option<Rc<str>>, bitcast: bool) -> Result<Tensor> {
    if bitcast {
        return cx.bitcast(&x.0, to);
    }
    let rounding = match rounding {
        Some(name) => Some(cx.rounding_mode(&name)?),
        None => None,
    };
    cx.cast(&x.0, to, rounding)
}

fn add(cx: &mut Cx<'_>, x: Value, y: Value, _sanitize: Value) -> Result<Value> {
    numbers(cx, BinaryOp::Add, &x, &y)
}

fn sub(cx: &mut Cx<'_>, x: Value, y: Value, _sanitize: Value) -> Result<Value> {
    numbers(cx, BinaryOp::Sub, &x, &y)
}

fn mul(cx: &mut Cx<'_>, x: Value, y: Value, _sanitize: Value) -> Result<Value> {
    numbers(cx, BinaryOp::Mul, &x, &y)
}

fn minimum(cx: &mut Cx<'_>, x: Value, y: Value, nan: PropagateNan) -> Result<Tensor> {
    cx.extremum(Extremum::Minimum, &x, &y, nan)
}

fn maximum(cx: &mut Cx<'_>, x: Value, y: Value, nan: PropagateNan) -> Result<Tensor> {
    cx.extremum(Extremum::Maximum, &x, &y, nan)
}

fn clamp(cx: &mut Cx<'_>, x: Value, min: Value, max: Value, nan: PropagateNan) -> Result<Tensor> {
    cx.clamp(&x, &min, &max, nan)
}

fn logical_and(cx: &mut Cx<'_>, x: Value, y: Value) -> Result<Value> {
    cx.logic(BoolOp::And, &x, &y)
}

fn logical_or(cx: &mut Cx<'_>, x: Value, y: Value) -> Result<Value> {
    cx.logic(BoolOp::Or, &x, &y)
}

fn aggregate_replace(cx: &mut Cx<'_>, instance: Value, changes: Vec<Value>) -> Result<Value> {
    let Value::Instance(instance) = &instance else {
        return Err(cx.error(format!("{} is no aggregate", instance.describe())));
    };
    let mut fields = instance.fields.clone();
    for change in &changes {
        let Value::Tuple(pair) = change else { continue };
        let [Value::Str(name), value] = &*pair.items else {
            continue;
        };
        match fields.iter_mut().find(|(field, _)| field == name) {
            Some((_, field)) => *field = value.clone(),
            None => {
                let message = format!("the aggregate `{}` has no field `{name}`", instance.class.name);
                return Err(cx.error(message));
            }
        }
    }
    Ok(Value::Instance(Rc::new(Instance {
        class: instance.class.clone(),
        fields,
    })))
}

impl Cx<'_> {
    /// The element type of a scalar or block.
    pub(super) fn elem_of(&self, x: &Tensor) -> Result<Elem> {
        x.ty.elem()
            .ok_or_else(|| self.error(format!("`{}` has no elements", x.ty)))
    }
}
