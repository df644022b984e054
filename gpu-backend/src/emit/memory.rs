//! Pointers, loads and stores: as wide as alignment, contiguity and the mask allow.

use std::rc::Rc;

use tilescope_diagnostics::Result;
use tilescope_ir::{Attrs, Elem, Function, OpId, Shape, Type, ValueId};

use super::loops::Body;
use super::plan::WIDEST;
use super::tile::{Bound, Tile, TileKind};
use super::{Emitter, arith, text};
use crate::layout::{Access, Layout, coordinate};

/// `tt.addptr`.
pub fn add_ptr(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    arith::lanewise(e, function, op, "$0 + $1")
}

/// A load's or store's operands.
struct Accessed {
    pointer: Rc<Tile>,
    mask: Option<Rc<Tile>>,
    /// Elements accessed at once.
    width: usize,
    /// The mask is the same for all of them.
    one_mask: bool,
    layout: Rc<Layout>,
    access: Access,
}

/// The pointee of a pointer value.
fn pointee(function: &Function, value: ValueId) -> Option<Elem> {
    Some(function.ty(value).elem()?.pointer()?.target())
}

/// The dimension along which the lowest registers lie, and how many elements they hold.
fn run_of(layout: &Layout, shape: Shape) -> Option<(usize, usize)> {
    let first = *layout.regs.first()?;
    let axis = (0..shape.rank()).find(|&axis| coordinate(first, shape, axis) != 0)?;
    let mut bits = 0;
    while let Some(&basis) = layout.regs.get(bits)
        && basis == first << bits
        && coordinate(basis, shape, axis) == 1 << bits
    {
        bits += 1;
    }
    (bits > 0).then_some((axis, 1 << bits))
}

fn accessed(
    e: &mut Emitter<'_>,
    function: &Function,
    op: OpId,
    pointer: ValueId,
    mask: Option<ValueId>,
    shape: Shape,
) -> Result<Accessed> {
    let layout = e.layout(shape);
    let access = layout.identity();
    let bytes = pointee(function, pointer).map_or(1, |elem| elem.bytes()) as u64;
    let mut width = 1;
    let mut one_mask = true;
    let mask = mask.filter(|&m| e.facts(function, m).value() != Some(1));
    if let Some((axis, run)) = run_of(&layout, shape) {
        let facts = e.facts(function, pointer);
        let aligned = (facts.divisible.get(axis).copied().unwrap_or(1) / bytes).max(1);
        let contiguous = facts.contiguous.get(axis).copied().unwrap_or(1);
        width = (run as u64).min(contiguous).min(aligned).min((WIDEST / bytes).max(1)) as usize;
        if let Some(mask) = mask {
            let constant = e.facts(function, mask).constant.get(axis).copied().unwrap_or(1);
            one_mask = constant >= width as u64;
        }
    }
    let pointer = e.tile(function, op, pointer)?;
    e.prepare(&pointer, &access)?;
    let mask = match mask {
        Some(mask) => {
            let mask = match e.bound(mask) {
                Bound::Tile(mask) => mask,
                Bound::Scalar(text) => {
                    let elem = Elem::Scalar(tilescope_ir::Scalar::I1);
                    e.make(String::from("mask"), shape, elem, TileKind::Splat(text))
                }
                Bound::Block(_) => return Err(e.unsupported(function, op, "a mask of this form")),
            };
            e.prepare(&mask, &access)?;
            Some(mask)
        }
        None => None,
    };
    e.flush();
    Ok(Accessed { pointer, mask, width, one_mask, layout, access })
}

/// The mask's text for the loop, and the suffix of the function that takes it.
fn mask_text(e: &mut Emitter<'_>, body: &mut Body, a: &Accessed, only_once: bool) -> Result<(String, &'static str)> {
    let idle = if only_once { a.layout.idle_threads() } else { 0 };
    let own = match idle {
        0 => None,
        idle => Some(format!("(tid & {idle}) == 0")),
    };
    let Some(mask) = &a.mask else {
        return Ok((own.map(|own| format!(", {own}")).unwrap_or_default(), ""));
    };
    let with_own = |mask: String| match &own {
        Some(own) => format!("{own} && {mask}"),
        None => mask,
    };
    if a.one_mask {
        let mask = e.element(body, mask, &a.access, "r")?;
        return Ok((format!(", {}", with_own(mask)), ""));
    }
    let name = e.names.fresh("masks");
    let mut inner = Body::default();
    let value = e.element(&mut inner, mask, &a.access, "q")?;
    body.lines.push(format!("bool {name}[{}];", a.width));
    body.lines.push(String::from("#pragma unroll"));
    body.lines.push(format!("for (int i = 0; i < {}; ++i) {{", a.width));
    body.lines.push(String::from("    const int q = r + i;"));
    body.lines.extend(inner.lines.into_iter().map(|line| format!("    {line}")));
    body.lines.push(format!("    {name}[i] = {};", with_own(value)));
    body.lines.push(String::from("}"));
    Ok((format!(", {name}"), "_each"))
}

fn access_attrs(function: &Function, op: OpId) -> (bool, bool) {
    match &function.ops[op].attrs {
        Attrs::Access(attrs) => (attrs.volatile, !attrs.boundary_check.is_empty() || attrs.padding.is_some()),
        _ => (false, false),
    }
}

/// Gives the registers of a load what masked-off lanes are.
fn fill(e: &mut Emitter<'_>, body: &mut Body, name: &str, other: Option<&Rc<Tile>>, zero: &str, a: &Accessed) -> Result<()> {
    let variable = if a.width == 1 { "r" } else { "q" };
    let mut inner = Body::default();
    let value = match other {
        Some(other) => e.element(&mut inner, other, &a.access, variable)?,
        None => zero.to_string(),
    };
    if a.width == 1 {
        body.lines.append(&mut inner.lines);
        body.lines.push(format!("{name}[r] = {value};"));
        return Ok(());
    }
    body.lines.push(String::from("#pragma unroll"));
    body.lines.push(format!("for (int i = 0; i < {}; ++i) {{", a.width));
    body.lines.push(String::from("    const int q = r + i;"));
    body.lines.extend(inner.lines.into_iter().map(|line| format!("    {line}")));
    body.lines.push(format!("    {name}[q] = {value};"));
    body.lines.push(String::from("}"));
    Ok(())
}

/// `tt.load`.
pub fn load(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let (Some(&pointer), Some(&result)) = (data.operands.first(), data.results.first()) else { return Ok(()) };
    let (mask, other) = (data.operands.get(1).copied(), data.operands.get(2).copied());
    let (volatile, _) = access_attrs(function, op);
    if matches!(function.ty(pointer), Type::BlockPtr(..)) {
        return Err(e.unsupported(function, op, "a load through a block pointer"));
    }
    let Some(elem) = function.ty(result).elem() else { return Ok(()) };
    let ctype = e.type_of(elem)?;
    let zero = text::literal(elem, 0);
    let Type::Tile(shape, _) = function.ty(result) else {
        e.note(data);
        let name = e.name_of(function, result);
        let other = other.map_or(zero, |v| e.scalar(v));
        let mask = mask.map(|m| format!(", {}", e.scalar(m))).unwrap_or_default();
        let address = e.scalar(pointer);
        e.line(format!("{ctype} {name} = {other};"));
        match volatile {
            true => {
                let mask = if mask.is_empty() { String::from(", true") } else { mask };
                e.line(format!("ts::load_volatile(&{name}, {address}{mask});"));
            }
            false => e.line(format!("ts::load<1>(&{name}, {address}{mask});")),
        }
        e.bind(result, Bound::Scalar(name));
        return Ok(());
    };
    let other = match other.map(|v| e.bound(v)) {
        Some(Bound::Tile(tile)) => Some(tile),
        Some(Bound::Scalar(text)) => Some(e.make(String::from("other"), shape, elem, TileKind::Splat(text))),
        _ => None,
    };
    let identity = e.layout(shape).identity();
    if let Some(other) = &other {
        e.prepare(other, &identity)?;
    }
    let mut a = accessed(e, function, op, pointer, mask, shape)?;
    if volatile {
        a.width = 1;
    }
    e.note(data);
    let name = e.name_of(function, result);
    let registers = a.layout.registers();
    e.line(format!("{ctype} {name}[{registers}];"));
    e.open_registers(registers, a.width);
    let mut body = Body::default();
    if a.mask.is_some() {
        fill(e, &mut body, &name, other.as_ref(), &zero, &a)?;
    }
    let address = e.element(&mut body, &a.pointer.clone(), &a.access, "r")?;
    let (mask, suffix) = mask_text(e, &mut body, &a, false)?;
    e.put(&mut body);
    match volatile {
        true => {
            let mask = if mask.is_empty() { String::from(", true") } else { mask };
            e.line(format!("ts::load_volatile(&{name}[r], {address}{mask});"));
        }
        false => e.line(format!("ts::load{suffix}<{}>(&{name}[r], {address}{mask});", a.width)),
    }
    e.close("}");
    let layout = a.layout.clone();
    let tile = e.make(name, shape, elem, TileKind::Array { layout });
    e.bind(result, Bound::Tile(tile));
    Ok(())
}

/// `tt.store`.
pub fn store(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let (Some(&pointer), Some(&value)) = (data.operands.first(), data.operands.get(1)) else { return Ok(()) };
    let mask = data.operands.get(2).copied();
    if matches!(function.ty(pointer), Type::BlockPtr(..)) {
        return Err(e.unsupported(function, op, "a store through a block pointer"));
    }
    let Some(elem) = function.ty(value).elem() else { return Ok(()) };
    let ctype = e.type_of(elem)?;
    let Type::Tile(shape, _) = function.ty(pointer) else {
        e.flush();
        e.note(data);
        let mask = mask.map(|m| format!(" && {}", e.scalar(m))).unwrap_or_default();
        let (address, value) = (e.scalar(pointer), e.scalar(value));
        e.line(format!("if (tid == 0{mask}) *{address} = {value};"));
        return Ok(());
    };
    let tile = match e.bound(value) {
        Bound::Tile(tile) => tile,
        Bound::Scalar(text) => e.make(String::from("value"), shape, elem, TileKind::Splat(text)),
        Bound::Block(_) => return Err(e.unsupported(function, op, "a store of descriptors")),
    };
    let access = e.layout(shape).identity();
    e.prepare(&tile, &access)?;
    let a = accessed(e, function, op, pointer, mask, shape)?;
    e.note(data);
    e.open_registers(a.layout.registers(), a.width);
    let mut body = Body::default();
    let mut inner = Body::default();
    let variable = if a.width == 1 { "r" } else { "q" };
    let element = e.element(&mut inner, &tile, &a.access, variable)?;
    let name = e.names.fresh("out");
    body.lines.push(format!("{ctype} {name}[{}];", a.width));
    if a.width == 1 {
        body.lines.append(&mut inner.lines);
        body.lines.push(format!("{name}[0] = {element};"));
    } else {
        body.lines.push(String::from("#pragma unroll"));
        body.lines.push(format!("for (int i = 0; i < {}; ++i) {{", a.width));
        body.lines.push(String::from("    const int q = r + i;"));
        body.lines.extend(inner.lines.into_iter().map(|line| format!("    {line}")));
        body.lines.push(format!("    {name}[i] = {element};"));
        body.lines.push(String::from("}"));
    }
    let address = e.element(&mut body, &a.pointer.clone(), &a.access, "r")?;
    let (mask, suffix) = mask_text(e, &mut body, &a, true)?;
    e.put(&mut body);
    e.line(format!("ts::store{suffix}<{}>({address}, {name}{mask});", a.width));
    e.close("}");
    Ok(())
}
