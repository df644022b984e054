//! `triton.tools.ragged_tma`: blocks of a part of a tensor's rows, through a descriptor with two more dimensions.
//!
//! The host side makes a descriptor whose first two dimensions cancel out (addresses wrap around at 64 bits), so
//! that the bounds of the rows `slice_off..slice_off + slice_size` are checked by the descriptor.

use std::rc::Rc;

use tilescope_ir::attrs::ReduceKind;

use super::builtins;
use super::core::{dims_of, reshape_to};
use super::operate::operate;
use crate::ast::BinaryOp;
use crate::cx::{Cx, Result};
use crate::semantic::memory::Access;
use crate::value::{Descriptor, Tensor, Value};

builtins! { TABLE in "triton.tools.ragged_tma";
    Function "load_ragged" "TMA, slice_off, slice_size, coords, ragged_dim=0" => load,
        "A block of the rows `slice_off..slice_off + slice_size`; zero outside of them.";
    Function "store_ragged" "TMA, slice_off, slice_size, coords, data, ragged_dim=0" => store,
        "Writes a block of the rows `slice_off..slice_off + slice_size`, inside of them.";
    Function "atomic_add_ragged" "TMA, slice_off, slice_size, coords, data, ragged_dim=0" => atomic_add,
        "Adds a block to the rows `slice_off..slice_off + slice_size`, inside of them.";
    Function "to_ragged_indices" "slice_off, slice_size, row" => indices, "The three offsets that a row becomes.";
}

/// Rows that the descriptor pretends to have.
const ROWS: i64 = 1 << 30;

fn indices(cx: &mut Cx<'_>, slice_off: Value, slice_size: Value, row: Value) -> Result<Value> {
    let before = operate(cx, BinaryOp::Sub, &Value::int(ROWS), &slice_size)?;
    let x = operate(cx, BinaryOp::Add, &before, &row)?;
    let y = operate(cx, BinaryOp::Add, &slice_off, &slice_size)?;
    Ok(Value::tuple(vec![Value::int(ROWS), y, x]))
}

fn offsets(
    cx: &mut Cx<'_>,
    descriptor: &Descriptor,
    (slice_off, slice_size): (Value, Value),
    mut coords: Vec<Value>,
    ragged_dim: i64,
) -> Result<Vec<Value>> {
    if descriptor.block.rank() != coords.len() + 2 {
        let message = format!(
            "a ragged descriptor has two dimensions more than there are coordinates, this has {} for {}",
            descriptor.block.rank(),
            coords.len()
        );
        return Err(cx.error(message));
    }
    let axis = cx.axis_of(&Value::int(ragged_dim), coords.len())?;
    let Some(row) = coords.get(axis).cloned() else {
        return Err(cx.error("there are no coordinates"));
    };
    let Value::Tuple(three) = indices(cx, slice_off, slice_size, row)? else {
        return Err(cx.error("a row becomes three offsets"));
    };
    if let ([first, second, third], Some(row)) = (&*three.items, coords.get_mut(axis)) {
        *row = third.clone();
        coords.splice(0..0, [first.clone(), second.clone()]);
    }
    Ok(coords)
}

fn load(
    cx: &mut Cx<'_>,
    descriptor: Rc<Descriptor>,
    slice_off: Value,
    slice_size: Value,
    coords: Vec<Value>,
    ragged_dim: i64,
) -> Result<Tensor> {
    let offsets = offsets(cx, &descriptor, (slice_off, slice_size), coords, ragged_dim)?;
    let data = cx.descriptor_load(&descriptor, &offsets, &Access::default())?;
    let dims = dims_of(&data);
    reshape_to(cx, &data, dims.get(2..).unwrap_or_default())
}

fn widened(cx: &mut Cx<'_>, data: &Tensor) -> Result<Value> {
    let mut dims = vec![1, 1];
    dims.extend(dims_of(data));
    reshape_to(cx, data, &dims).map(Value::from)
}

fn store(
    cx: &mut Cx<'_>,
    descriptor: Rc<Descriptor>,
    slice_off: Value,
    slice_size: Value,
    coords: Vec<Value>,
    data: Tensor,
    ragged_dim: i64,
) -> Result<()> {
    let offsets = offsets(cx, &descriptor, (slice_off, slice_size), coords, ragged_dim)?;
    let data = widened(cx, &data)?;
    cx.descriptor_store(&descriptor, &offsets, &data)
}

fn atomic_add(
    cx: &mut Cx<'_>,
    descriptor: Rc<Descriptor>,
    slice_off: Value,
    slice_size: Value,
    coords: Vec<Value>,
    data: Tensor,
    ragged_dim: i64,
) -> Result<()> {
    let offsets = offsets(cx, &descriptor, (slice_off, slice_size), coords, ragged_dim)?;
    let data = widened(cx, &data)?;
    cx.descriptor_reduce(ReduceKind::Add, &descriptor, &offsets, &data)
}
