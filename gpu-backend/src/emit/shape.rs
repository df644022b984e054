//! Shapes: nothing moves, operands are read through a map of indices.

use std::rc::Rc;

use tilescope_diagnostics::Result;
use tilescope_ir::{Attrs, Function, OpId, Shape, Type};

use super::tile::{Bound, Tile, TileKind};
use super::{Emitter, MAX_COST};
use crate::layout::IndexMap;

/// Operand tile, result shape.
fn parts(e: &Emitter<'_>, function: &Function, op: OpId) -> Result<(Rc<Tile>, Shape)> {
    let data = &function.ops[op];
    let shape = data.results.first().and_then(|&v| function.ty(v).shape());
    match (data.operands.first(), shape) {
        (Some(&operand), Some(shape)) => Ok((e.tile(function, op, operand)?, shape)),
        _ => Err(e.unsupported(function, op, format!("{} of this form", data.code))),
    }
}

fn view(
    e: &mut Emitter<'_>,
    function: &Function,
    op: OpId,
    operand: Rc<Tile>,
    shape: Shape,
    map: IndexMap,
) -> Result<()> {
    let data = &function.ops[op];
    let Some(&result) = data.results.first() else {
        return Ok(());
    };
    view_of(e, function, result, operand, shape, map)
}

fn view_of(
    e: &mut Emitter<'_>,
    function: &Function,
    result: tilescope_ir::ValueId,
    mut operand: Rc<Tile>,
    shape: Shape,
    map: IndexMap,
) -> Result<()> {
    if operand.cost > MAX_COST {
        operand = e.array(&operand)?.0;
    }
    let (elem, name) = (operand.elem, e.name_of(function, result));
    let kind = match &operand.kind {
        TileKind::Splat(text) => TileKind::Splat(text.clone()),
        _ => TileKind::View { map, operand },
    };
    let mut tile = e.make(name, shape, elem, kind);
    // Chains of views must not become arbitrarily deep.
    if let Some(tile) = Rc::get_mut(&mut tile) {
        tile.cost = tile.cost.saturating_add(1);
    }
    e.bind(result, Bound::Tile(tile));
    Ok(())
}

/// `tt.make_range`.
pub fn make_range(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    if let (Some(&result), Attrs::Range { start, .. }) = (data.results.first(), &data.attrs)
        && let Type::Tile(shape, elem) = function.ty(result)
    {
        let name = e.name_of(function, result);
        let tile = e.make(name, shape, elem, TileKind::Range { start: *start });
        e.bind(result, Bound::Tile(tile));
    }
    Ok(())
}

/// `tt.splat`.
pub fn splat(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    if let (Some(&operand), Some(&result)) = (data.operands.first(), data.results.first())
        && let Type::Tile(shape, elem) = function.ty(result)
    {
        match e.bound(operand) {
            Bound::Scalar(text) => {
                let tile = e.make(String::from("s"), shape, elem, TileKind::Splat(text));
                e.bind(result, Bound::Tile(tile));
            }
            Bound::Tile(tile) => {
                let from = tile.shape;
                let one = Shape::new(&vec![1; shape.rank()]).unwrap_or(from);
                return view(e, function, op, tile, shape, IndexMap::broadcast(one, shape));
            }
            Bound::Block(_) => return Err(e.unsupported(function, op, "a tile of descriptors")),
        }
    }
    Ok(())
}

/// `tt.unsplat`: the only lane.
pub fn unsplat(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let (Some(&operand), Some(&result)) = (data.operands.first(), data.results.first()) else {
        return Ok(());
    };
    let tile = e.tile(function, op, operand)?;
    if let TileKind::Splat(text) = &tile.kind {
        e.bind(result, Bound::Scalar(text.clone()));
        return Ok(());
    }
    let (array, _) = e.array(&tile)?;
    e.note(data);
    e.define(function, result, &format!("{}[0]", array.name))
}

/// `tt.broadcast`.
pub fn broadcast(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let (operand, shape) = parts(e, function, op)?;
    let map = IndexMap::broadcast(operand.shape, shape);
    view(e, function, op, operand, shape, map)
}

/// `tt.reshape`, `tt.expand_dims`: elements keep their order.
pub fn reshape(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let (operand, shape) = parts(e, function, op)?;
    view(e, function, op, operand, shape, IndexMap::same(shape))
}

/// `tt.trans`.
pub fn trans(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let (operand, shape) = parts(e, function, op)?;
    let Attrs::Order(order) = &function.ops[op].attrs else {
        return Ok(());
    };
    let map = IndexMap::permuted(operand.shape, shape, order);
    view(e, function, op, operand, shape, map)
}

/// A tile of one of two others.
fn pick(
    e: &mut Emitter<'_>,
    function: &Function,
    op: OpId,
    bit: impl Fn(Shape) -> u32,
    map: impl Fn(Shape) -> IndexMap,
) -> Result<()> {
    let data = &function.ops[op];
    let (low, shape) = parts(e, function, op)?;
    let (Some(&second), Some(&result)) = (data.operands.get(1), data.results.first()) else {
        return Ok(());
    };
    let high = e.tile(function, op, second)?;
    let mut sides = [low, high];
    for side in &mut sides {
        if side.cost > MAX_COST / 2 {
            *side = e.array(side)?.0;
        }
    }
    let [low, high] = sides;
    let (elem, name) = (low.elem, e.name_of(function, result));
    let kind = TileKind::Pick {
        bit: bit(shape),
        map: map(shape),
        low,
        high,
    };
    let tile = e.make(name, shape, elem, kind);
    e.bind(result, Bound::Tile(tile));
    Ok(())
}

/// `tt.join`.
pub fn join(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    pick(e, function, op, |_| 0, IndexMap::without_last_bit)
}

/// `tt.cat`.
pub fn cat(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    pick(
        e,
        function,
        op,
        |shape| shape.log2_elements().saturating_sub(1),
        IndexMap::without_top_bit,
    )
}

/// `tt.split`.
pub fn split(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let (operand, shape) = parts(e, function, op)?;
    for (half, &result) in function.ops[op].results.iter().enumerate() {
        let map = IndexMap::half(shape, half as u32);
        view_of(e, function, result, operand.clone(), shape, map)?;
    }
    Ok(())
}
