//! Tensor descriptors and block pointers: plain loads and stores whose addresses and masks are formulas of the coordinates.
//!
//! Left out: the bulk copy engine; block pointers that change their tensor on the way round a loop.

use std::rc::Rc;

use tilescope_diagnostics::Result;
use tilescope_ir::attrs::Padding;
use tilescope_ir::{Attrs, Elem, Function, OpId, Scalar, Shape, Type, ValueId};

use super::memory::{Target, load_tile, store_tile};
use super::tile::{BlockPointer, Bound, Tile, TileKind};
use super::{Emitter, text};
use crate::analysis::Facts;
use crate::layout::IndexMap;

/// `tt.make_tensor_descriptor`: base, sizes, strides.
pub fn make_tensor_descriptor(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let (Some(&result), Some((&base, rest))) = (data.results.first(), data.operands.split_first()) else {
        return Ok(());
    };
    let rank = rest.len() / 2;
    let wide = |e: &Emitter<'_>, values: &[ValueId]| {
        values
            .iter()
            .map(|&v| format!("ts::i64({})", e.scalar(v)))
            .collect()
    };
    let pointer = BlockPointer {
        base: e.scalar(base),
        shape: wide(e, &rest[..rank]),
        strides: wide(e, &rest[rank..]),
        offsets: Vec::new(),
        nan: matches!(data.attrs, Attrs::Padding(Padding::Nan)),
        align: e.facts(function, base).divisible.first().copied().unwrap_or(1),
    };
    e.bind(result, Bound::Block(Rc::new(pointer)));
    Ok(())
}

/// `tt.make_tensor_ptr`: base, sizes, strides, offsets.
pub fn make_tensor_ptr(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let (Some(&result), Some((&base, rest))) = (data.results.first(), data.operands.split_first()) else {
        return Ok(());
    };
    let rank = rest.len() / 3;
    let wide = |values: &[ValueId]| -> Vec<String> {
        let text = |&v: &ValueId| format!("ts::i64({})", e.scalar(v));
        values.iter().map(text).collect()
    };
    let pointer = BlockPointer {
        base: e.scalar(base),
        shape: wide(&rest[..rank]),
        strides: wide(&rest[rank..2 * rank]),
        offsets: wide(&rest[2 * rank..]),
        nan: false,
        align: e.facts(function, base).divisible.first().copied().unwrap_or(1),
    };
    e.bind(result, Bound::Block(Rc::new(pointer)));
    Ok(())
}

/// `tt.advance`: a block pointer, and what to add to its offsets.
pub fn advance(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let (Some(&result), Some((&pointer, steps))) = (data.results.first(), data.operands.split_first()) else {
        return Ok(());
    };
    let Bound::Block(pointer) = e.bound(pointer) else {
        return Err(e.unsupported(function, op, "a block pointer of this form"));
    };
    e.flush();
    e.note(data);
    let mut moved = BlockPointer::clone(&pointer);
    for (offset, &step) in moved.offsets.iter_mut().zip(steps) {
        let step = e.scalar(step);
        if step == "0" {
            continue;
        }
        let name = e.names.fresh("offset");
        e.line(format!("ts::i64 const {name} = {offset} + ts::i64({step});"));
        *offset = name;
    }
    e.bind(result, Bound::Block(Rc::new(moved)));
    Ok(())
}

/// Where a block starts along each dimension: an expression of 64 bits, what divides it, and whether lanes outside are left out.
struct Start {
    text: String,
    divisible: u64,
    checked: bool,
}

/// What divides a number, where its expression shows it.
fn divisor_of(text: &str) -> u64 {
    let digits = text
        .strip_prefix("ts::i64(")
        .and_then(|rest| rest.strip_suffix(')'))
        .unwrap_or(text);
    digits
        .trim_end_matches("LL")
        .parse::<i64>()
        .map_or(1, crate::analysis::aligned)
}

/// The block of a descriptor that starts at these coordinates: pointers and masks.
pub(super) fn target(
    e: &mut Emitter<'_>,
    function: &Function,
    op: OpId,
    descriptor: ValueId,
    indices: &[ValueId],
) -> Result<(Target, Shape, Elem, bool)> {
    let (Type::Descriptor { block, elem, .. }, Bound::Block(pointer)) =
        (function.ty(descriptor), e.bound(descriptor))
    else {
        return Err(e.unsupported(function, op, "a descriptor of this form"));
    };
    let starts: Vec<Start> = indices
        .iter()
        .map(|&index| Start {
            text: format!("ts::i64({})", e.scalar(index)),
            divisible: e.facts(function, index).divisible.first().copied().unwrap_or(1),
            checked: true,
        })
        .collect();
    let elem = Elem::Scalar(elem);
    let target = located(e, function, op, descriptor, &pointer, block, elem, &starts)?;
    Ok((target, block, elem, pointer.nan))
}

/// The block of a block pointer: pointers and masks, of a load or store with these attributes.
pub(super) fn block_of(
    e: &mut Emitter<'_>,
    function: &Function,
    op: OpId,
    value: ValueId,
) -> Result<(Target, Shape, Elem, bool)> {
    let (Type::BlockPtr(block, elem), Bound::Block(pointer)) = (function.ty(value), e.bound(value)) else {
        return Err(e.unsupported(function, op, "a block pointer of this form"));
    };
    let (checked, nan) = match &function.ops[op].attrs {
        Attrs::Access(access) => (
            access.boundary_check.to_vec(),
            matches!(access.padding, Some(Padding::Nan)),
        ),
        _ => (Vec::new(), false),
    };
    let starts: Vec<Start> = pointer
        .offsets
        .iter()
        .enumerate()
        .map(|(axis, text)| Start {
            text: text.clone(),
            divisible: divisor_of(text),
            checked: checked.iter().any(|&d| d as usize == axis),
        })
        .collect();
    let target = located(e, function, op, value, &pointer, block, elem, &starts)?;
    Ok((target, block, elem, nan))
}

/// Pointers and masks of a block.
#[allow(clippy::too_many_arguments, reason = "what a block is")]
fn located(
    e: &mut Emitter<'_>,
    function: &Function,
    op: OpId,
    origin: ValueId,
    pointer: &BlockPointer,
    block: Shape,
    elem: Elem,
    starts: &[Start],
) -> Result<Target> {
    let rank = block.rank();
    if rank > 9 || starts.len() != rank || pointer.strides.len() != rank || pointer.shape.len() != rank {
        return Err(e.unsupported(function, op, format!("a descriptor of rank {rank}")));
    }
    let bytes = elem.bytes() as u64;
    let mut coordinates = Vec::new();
    let (mut offsets, mut masks) = (Vec::new(), Vec::new());
    let mut align = pointer.align;
    for (axis, start) in starts.iter().enumerate() {
        let dim = Shape::new(&[block.dim(axis) as u64]).unwrap_or(block);
        let range = e.make(
            String::from("i"),
            dim,
            Elem::Scalar(Scalar::I32),
            TileKind::Range { start: 0 },
        );
        let map = IndexMap::dimension(block, axis);
        coordinates.push(e.make(
            String::from("i"),
            block,
            Elem::Scalar(Scalar::I32),
            TileKind::View { map, operand: range },
        ));
        let at = format!("({} + ${axis})", start.text);
        let stride = &pointer.strides[axis];
        offsets.push(format!("{at} * {stride}"));
        if start.checked {
            masks.push(format!("{at} >= 0 && {at} < {}", pointer.shape[axis]));
        }
        let step = divisor_of(stride);
        align = align.min(start.divisible.saturating_mul(step).saturating_mul(bytes));
        if axis + 1 < rank {
            align = align.min(step.saturating_mul(bytes));
        }
    }
    let last = rank.saturating_sub(1);
    let is_one = |text: &String| text == "1LL" || text == "ts::i64(1LL)" || text == "ts::i64(1)";
    let mut facts = Facts::unknown(Type::Tile(block, elem));
    let mut mask_facts = facts.clone();
    if pointer.strides.get(last).is_some_and(is_one) && rank > 0 {
        let whole = block.dim(last) as u64;
        facts.contiguous[last] = whole;
        facts.divisible[last] = align;
        let size = divisor_of(&pointer.shape[last]);
        mask_facts.constant[last] = match starts[last].checked {
            true => whole.min(starts[last].divisible).min(size),
            false => whole,
        };
    }
    let pointee = match elem {
        Elem::Scalar(scalar) => Elem::Ptr(tilescope_ir::Pointer::to(scalar)),
        other => other,
    };
    let formula = |e: &mut Emitter<'_>, name: &str, elem: Elem, text: String| -> Rc<Tile> {
        let kind = TileKind::Op {
            text,
            operands: coordinates.clone(),
        };
        e.make(String::from(name), block, elem, kind)
    };
    let address = formula(
        e,
        "address",
        pointee,
        format!("{} + ({})", pointer.base, offsets.join(" + ")),
    );
    let mask = match masks.is_empty() {
        true => None,
        false => {
            let mask = formula(e, "inside", Elem::Scalar(Scalar::I1), masks.join(" && "));
            Some((mask, mask_facts))
        }
    };
    Ok(Target {
        pointer: address,
        facts,
        mask,
        bytes,
        origin,
    })
}

/// Rows of a descriptor of two dimensions, chosen one by one, from a column on.
fn rows(
    e: &mut Emitter<'_>,
    function: &Function,
    op: OpId,
    descriptor: ValueId,
    chosen: ValueId,
    column: ValueId,
    shape: Shape,
) -> Result<(Target, Elem)> {
    let Type::Descriptor { elem, .. } = function.ty(descriptor) else {
        return Err(e.unsupported(function, op, "a descriptor of this form"));
    };
    let Bound::Block(pointer) = e.bound(descriptor) else {
        return Err(e.unsupported(function, op, "a descriptor of this form"));
    };
    let (2, [height, width], [row_stride, column_stride]) =
        (shape.rank(), &pointer.shape[..], &pointer.strides[..])
    else {
        return Err(e.unsupported(function, op, "a descriptor of other than two dimensions"));
    };
    let number = Elem::Scalar(Scalar::I32);
    let chosen = e.tile(function, op, chosen)?;
    let columns = Shape::new(&[shape.dim(1) as u64]).unwrap_or(shape);
    let range = e.make(String::from("i"), columns, number, TileKind::Range { start: 0 });
    let mut coordinates = Vec::new();
    for (axis, operand) in [chosen, range].into_iter().enumerate() {
        let map = IndexMap::dimension(shape, axis);
        let elem = operand.elem;
        coordinates.push(e.make(String::from("i"), shape, elem, TileKind::View { map, operand }));
    }
    let start = e.scalar(column);
    let (row, column) = ("ts::i64($0)", format!("(ts::i64({start}) + $1)"));
    let address = format!(
        "{} + ({row} * {row_stride} + {column} * {column_stride})",
        pointer.base
    );
    let inside = format!("{row} >= 0 && {row} < {height} && {column} >= 0 && {column} < {width}");
    let elem = Elem::Scalar(elem);
    let facts = Facts::unknown(Type::Tile(shape, elem));
    let pointee = Elem::Ptr(tilescope_ir::Pointer::to(elem.scalar().unwrap_or(Scalar::I8)));
    let formula = |e: &mut Emitter<'_>, name: &str, elem: Elem, text: String| -> Rc<Tile> {
        let operands = coordinates.clone();
        e.make(String::from(name), shape, elem, TileKind::Op { text, operands })
    };
    let pointer = formula(e, "address", pointee, address);
    let mask = formula(e, "inside", Elem::Scalar(Scalar::I1), inside);
    let target = Target {
        pointer,
        facts: facts.clone(),
        mask: Some((mask, facts)),
        bytes: elem.bytes() as u64,
        origin: descriptor,
    };
    Ok((target, elem))
}

/// `tt.descriptor_gather`: descriptor, the rows, the first column.
pub fn descriptor_gather(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let (&[descriptor, chosen, column], Some(&result)) = (&data.operands[..], data.results.first()) else {
        return Ok(());
    };
    let Some(shape) = function.ty(result).shape() else {
        return Ok(());
    };
    let (target, elem) = rows(e, function, op, descriptor, chosen, column, shape)?;
    load_tile(e, function, op, shape, elem, &target, None, false)
}

/// `tt.descriptor_scatter`: descriptor, the rows, the first column, the tile.
pub fn descriptor_scatter(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let &[descriptor, chosen, column, value] = &data.operands[..] else {
        return Ok(());
    };
    let tile = e.tile(function, op, value)?;
    let (target, elem) = rows(e, function, op, descriptor, chosen, column, tile.shape)?;
    store_tile(e, function, op, tile.shape, elem, &target, &tile)
}

/// The same elements in another shape of as many.
pub(super) fn reshaped(e: &mut Emitter<'_>, tile: Rc<Tile>, shape: Shape) -> Rc<Tile> {
    match tile.shape == shape {
        true => tile,
        false => {
            let (name, elem) = (tile.name.clone(), tile.elem);
            e.make(
                name,
                shape,
                elem,
                TileKind::View {
                    map: IndexMap::same(shape),
                    operand: tile,
                },
            )
        }
    }
}

/// What lanes outside read, where that is NaN.
pub(super) fn padding(e: &mut Emitter<'_>, block: Shape, elem: Elem) -> Option<Rc<Tile>> {
    let scalar = elem.scalar().filter(|scalar| scalar.is_float())?;
    let bits = match scalar {
        Scalar::F64 => 0x7ff8_0000_0000_0000,
        Scalar::F32 => 0x7fc0_0000,
        Scalar::F16 => 0x7e00,
        Scalar::BF16 => 0x7fc0,
        _ => 0x7f,
    };
    Some(e.make(
        String::from("nan"),
        block,
        elem,
        TileKind::Splat(text::literal(elem, bits)),
    ))
}

/// `tt.descriptor_load`.
pub fn descriptor_load(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let (Some((&descriptor, indices)), Some(&result)) = (data.operands.split_first(), data.results.first())
    else {
        return Ok(());
    };
    let (target, block, elem, nan) = target(e, function, op, descriptor, indices)?;
    let other = nan.then(|| padding(e, block, elem)).flatten();
    load_tile(e, function, op, block, elem, &target, other, false)?;
    if let (Bound::Tile(tile), Some(shape)) = (e.bound(result), function.ty(result).shape()) {
        let tile = reshaped(e, tile, shape);
        e.bind(result, Bound::Tile(tile));
    }
    Ok(())
}

/// `tt.descriptor_store`: descriptor, value, coordinates.
pub fn descriptor_store(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let [descriptor, value, ref indices @ ..] = data.operands[..] else {
        return Ok(());
    };
    let (target, block, elem, _) = target(e, function, op, descriptor, indices)?;
    let tile = e.tile(function, op, value)?;
    let tile = reshaped(e, tile, block);
    store_tile(e, function, op, block, elem, &target, &tile)
}
