//! Pointers, loads and stores: as wide as alignment, contiguity and the mask allow.

use std::rc::Rc;

use tilescope_diagnostics::Result;
use tilescope_ir::{Attrs, Elem, Function, OpId, Shape, Type, ValueId};
use tilescope_launch::fault::AccessKind;

use super::checks::Guard;
use super::loops::Body;
use super::plan::WIDEST;
use super::tile::{Bound, Tile, TileKind};
use super::{Emitter, arith, text};
use crate::analysis::Facts;
use crate::layout::{Access, Layout, coordinate};

/// The access of a scalar: no register is asked for.
pub(super) const NO_ACCESS: Access = Access {
    layout: Layout {
        regs: Vec::new(),
        threads: Vec::new(),
    },
    offset: 0,
};

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

/// A pointer tile, a mask, and what is known of them.
pub(super) struct Target {
    pub pointer: Rc<Tile>,
    pub facts: Facts,
    pub mask: Option<(Rc<Tile>, Facts)>,
    /// Bytes of an element.
    pub bytes: u64,
    /// The value that says which tensor is meant: the pointers, or a descriptor.
    pub origin: ValueId,
}

/// The operands of a plain load or store.
fn target(
    e: &mut Emitter<'_>,
    function: &Function,
    op: OpId,
    pointer: ValueId,
    mask: Option<ValueId>,
    shape: Shape,
) -> Result<Target> {
    let mask = mask.filter(|&m| e.facts(function, m).value() != Some(1));
    let mask = match mask {
        Some(value) => {
            let tile = match e.bound(value) {
                Bound::Tile(tile) => tile,
                Bound::Scalar(text) => {
                    let elem = Elem::Scalar(tilescope_ir::Scalar::I1);
                    e.make(String::from("mask"), shape, elem, TileKind::Splat(text))
                }
                Bound::Block(_) => return Err(e.unsupported(function, op, "a mask of this form")),
            };
            Some((tile, e.facts(function, value)))
        }
        None => None,
    };
    Ok(Target {
        pointer: e.tile(function, op, pointer)?,
        facts: e.facts(function, pointer),
        mask,
        bytes: pointee(function, pointer).map_or(1, |elem| elem.bytes()) as u64,
        origin: pointer,
    })
}

/// Chooses the width of an access, and makes sure that its operands are at hand.
fn accessed(e: &mut Emitter<'_>, target: &Target, shape: Shape) -> Result<Accessed> {
    let layout = e.layout(shape);
    let access = layout.identity();
    let mut width = 1;
    let mut one_mask = true;
    if let Some((axis, run)) = run_of(&layout, shape)
        && !e.is_checked()
    {
        let facts = &target.facts;
        let aligned = (facts.divisible.get(axis).copied().unwrap_or(1) / target.bytes).max(1);
        let contiguous = facts.contiguous.get(axis).copied().unwrap_or(1);
        width = (run as u64)
            .min(contiguous)
            .min(aligned)
            .min((WIDEST / target.bytes).max(1)) as usize;
        if let Some((_, facts)) = &target.mask {
            let constant = facts.constant.get(axis).copied().unwrap_or(1);
            one_mask = constant >= width as u64;
        }
    }
    e.prepare(&target.pointer, &access)?;
    super::undefined::prepare(e, target.origin, &access)?;
    if let Some((mask, _)) = &target.mask {
        e.prepare(mask, &access)?;
    }
    e.flush();
    Ok(Accessed {
        pointer: target.pointer.clone(),
        mask: target.mask.as_ref().map(|(mask, _)| mask.clone()),
        width,
        one_mask,
        layout,
        access,
    })
}

/// The mask's text for the loop, and the suffix of the function that takes it.
fn mask_text(
    e: &mut Emitter<'_>,
    body: &mut Body,
    a: &Accessed,
    only_once: bool,
) -> Result<(String, &'static str)> {
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
    body.lines
        .push(format!("for (int i = 0; i < {}; ++i) {{", a.width));
    body.lines.push(String::from("    const int q = r + i;"));
    body.lines
        .extend(inner.lines.into_iter().map(|line| format!("    {line}")));
    body.lines.push(format!("    {name}[i] = {};", with_own(value)));
    body.lines.push(String::from("}"));
    Ok((format!(", {name}"), "_each"))
}

fn access_attrs(function: &Function, op: OpId) -> (bool, bool) {
    match &function.ops[op].attrs {
        Attrs::Access(attrs) => (
            attrs.volatile,
            !attrs.boundary_check.is_empty() || attrs.padding.is_some(),
        ),
        _ => (false, false),
    }
}

/// Gives the registers of a load what masked-off lanes are.
fn fill(
    e: &mut Emitter<'_>,
    body: &mut Body,
    name: &str,
    other: Option<&Rc<Tile>>,
    zero: &str,
    a: &Accessed,
) -> Result<()> {
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
    body.lines
        .push(format!("for (int i = 0; i < {}; ++i) {{", a.width));
    body.lines.push(String::from("    const int q = r + i;"));
    body.lines
        .extend(inner.lines.into_iter().map(|line| format!("    {line}")));
    body.lines.push(format!("    {name}[q] = {value};"));
    body.lines.push(String::from("}"));
    Ok(())
}

/// `tt.load`.
pub fn load(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let (Some(&pointer), Some(&result)) = (data.operands.first(), data.results.first()) else {
        return Ok(());
    };
    let (mask, other) = (data.operands.get(1).copied(), data.operands.get(2).copied());
    let (volatile, _) = access_attrs(function, op);
    if matches!(function.ty(pointer), Type::BlockPtr(..)) {
        let (target, block, elem, nan) = super::block::block_of(e, function, op, pointer)?;
        let other = nan.then(|| super::block::padding(e, block, elem)).flatten();
        return load_tile(e, function, op, block, elem, &target, other, volatile);
    }
    let Some(elem) = function.ty(result).elem() else {
        return Ok(());
    };
    let zero = text::literal(elem, 0);
    let Type::Tile(shape, _) = function.ty(result) else {
        e.note(data);
        let ctype = e.type_of(elem)?;
        let name = e.name_of(function, result);
        let other = other.map_or_else(|| zero.clone(), |v| e.scalar(v));
        let mask = mask.map(|m| format!(", {}", e.scalar(m))).unwrap_or_default();
        let address = e.scalar(pointer);
        e.line(format!("{ctype} {name} = {other};"));
        if let Some(guard) = e.guard(function, op, AccessKind::Load, pointer, elem.bytes() as u64)? {
            let mask = mask.strip_prefix(", ").unwrap_or("true");
            let defined = super::undefined::defined(e, &mut Body::default(), pointer, &NO_ACCESS)?;
            let mine = defined.map_or_else(|| String::from("tid == 0"), |d| format!("tid == 0 && {d}"));
            let ask = guard.ask(&address, "0", &mine);
            let load = match volatile {
                true => format!("ts::load_volatile(&{name}, {address}, true);"),
                false => format!("ts::load<1>(&{name}, {address});"),
            };
            e.line(format!("if ({mask}) {{"));
            e.line(format!("    if ({ask}) {load}"));
            e.line(format!("    else {name} = {zero};"));
            e.line("}");
            e.bind(result, Bound::Scalar(name));
            return Ok(());
        }
        match volatile {
            true => {
                let mask = if mask.is_empty() {
                    String::from(", true")
                } else {
                    mask
                };
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
    let target = target(e, function, op, pointer, mask, shape)?;
    load_tile(e, function, op, shape, elem, &target, other, volatile)
}

/// A load of a tile; `other` is for masked-off lanes, else zero.
#[allow(clippy::too_many_arguments, reason = "what a load is")]
pub(super) fn load_tile(
    e: &mut Emitter<'_>,
    function: &Function,
    op: OpId,
    shape: Shape,
    elem: Elem,
    target: &Target,
    other: Option<Rc<Tile>>,
    volatile: bool,
) -> Result<()> {
    let data = &function.ops[op];
    let Some(&result) = data.results.first() else {
        return Ok(());
    };
    let ctype = e.type_of(elem)?;
    let zero = text::literal(elem, 0);
    let identity = e.layout(shape).identity();
    if let Some(other) = &other {
        e.prepare(other, &identity)?;
    }
    let guard = e.guard(function, op, AccessKind::Load, target.origin, target.bytes)?;
    let mut a = accessed(e, target, shape)?;
    if volatile {
        a.width = 1;
        a.one_mask = true;
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
    let defined = super::undefined::defined(e, &mut body, target.origin, &a.access)?;
    e.put(&mut body);
    if let Some(guard) = &guard {
        checked_load(e, guard, &a, &name, &address, &mask, &zero, volatile, defined);
        return bind_array(e, result, name, shape, elem, &a);
    }
    match volatile {
        true => {
            let mask = if mask.is_empty() {
                String::from(", true")
            } else {
                mask
            };
            e.line(format!("ts::load_volatile(&{name}[r], {address}{mask});"));
        }
        false => e.line(format!(
            "ts::load{suffix}<{}>(&{name}[r], {address}{mask});",
            a.width
        )),
    }
    bind_array(e, result, name, shape, elem, &a)
}

/// Ends the loop of a load, and names what it loaded.
fn bind_array(
    e: &mut Emitter<'_>,
    result: ValueId,
    name: String,
    shape: Shape,
    elem: Elem,
    a: &Accessed,
) -> Result<()> {
    e.close("}");
    let layout = a.layout.clone();
    let tile = e.make(name, shape, elem, TileKind::Array { layout });
    e.bind(result, Bound::Tile(tile));
    Ok(())
}

/// The inside of the loop of a checked load: a faulty lane is zero.
#[allow(clippy::too_many_arguments, reason = "what a load is")]
fn checked_load(
    e: &mut Emitter<'_>,
    guard: &Guard,
    a: &Accessed,
    name: &str,
    address: &str,
    mask: &str,
    zero: &str,
    volatile: bool,
    defined: Option<String>,
) {
    let (lane, mut mine) = e.lane(&a.access, &a.layout);
    if let Some(defined) = defined {
        mine = format!("{mine} && {defined}");
    }
    let from = e.names.fresh("from");
    let active = mask.strip_prefix(", ").unwrap_or("true");
    let load = match volatile {
        true => format!("ts::load_volatile(&{name}[r], {from}, true);"),
        false => format!("ts::load<1>(&{name}[r], {from});"),
    };
    e.line(format!("auto const {from} = {address};"));
    e.line(format!("if ({active}) {{"));
    e.line(format!("    if ({}) {load}", guard.ask(&from, &lane, &mine)));
    e.line(format!("    else {name}[r] = {zero};"));
    e.line("}");
}

/// `tt.store`.
pub fn store(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let (Some(&pointer), Some(&value)) = (data.operands.first(), data.operands.get(1)) else {
        return Ok(());
    };
    let mask = data.operands.get(2).copied();
    if matches!(function.ty(pointer), Type::BlockPtr(..)) {
        let (target, block, elem, _) = super::block::block_of(e, function, op, pointer)?;
        let tile = e.tile(function, op, value)?;
        return store_tile(e, function, op, block, elem, &target, &tile);
    }
    let Some(elem) = function.ty(value).elem() else {
        return Ok(());
    };
    let Type::Tile(shape, _) = function.ty(pointer) else {
        e.flush();
        e.note(data);
        let mask = mask.map(|m| format!(" && {}", e.scalar(m))).unwrap_or_default();
        let (address, value) = (e.scalar(pointer), e.scalar(value));
        let guard = e.guard(function, op, AccessKind::Store, pointer, elem.bytes() as u64)?;
        let defined = super::undefined::defined(e, &mut Body::default(), pointer, &NO_ACCESS)?;
        let defined = defined.unwrap_or_else(|| String::from("true"));
        let ask = guard.map(|guard| format!(" && {}", guard.ask(&address, "0", &defined)));
        let ask = ask.unwrap_or_default();
        e.line(format!("if (tid == 0{mask}{ask}) *{address} = {value};"));
        return Ok(());
    };
    let tile = match e.bound(value) {
        Bound::Tile(tile) => tile,
        Bound::Scalar(text) => e.make(String::from("value"), shape, elem, TileKind::Splat(text)),
        Bound::Block(_) => return Err(e.unsupported(function, op, "a store of descriptors")),
    };
    let target = target(e, function, op, pointer, mask, shape)?;
    store_tile(e, function, op, shape, elem, &target, &tile)
}

/// A store of a tile: each element by one thread.
pub(super) fn store_tile(
    e: &mut Emitter<'_>,
    function: &Function,
    op: OpId,
    shape: Shape,
    elem: Elem,
    target: &Target,
    tile: &Rc<Tile>,
) -> Result<()> {
    let data = &function.ops[op];
    let ctype = e.type_of(elem)?;
    let access = e.layout(shape).identity();
    e.prepare(tile, &access)?;
    let guard = e.guard(function, op, AccessKind::Store, target.origin, target.bytes)?;
    let a = accessed(e, target, shape)?;
    e.note(data);
    e.open_registers(a.layout.registers(), a.width);
    let mut body = Body::default();
    let mut inner = Body::default();
    let variable = if a.width == 1 { "r" } else { "q" };
    let element = e.element(&mut inner, tile, &a.access, variable)?;
    let name = e.names.fresh("out");
    body.lines.push(format!("{ctype} {name}[{}];", a.width));
    if a.width == 1 {
        body.lines.append(&mut inner.lines);
        body.lines.push(format!("{name}[0] = {element};"));
    } else {
        body.lines.push(String::from("#pragma unroll"));
        body.lines
            .push(format!("for (int i = 0; i < {}; ++i) {{", a.width));
        body.lines.push(String::from("    const int q = r + i;"));
        body.lines
            .extend(inner.lines.into_iter().map(|line| format!("    {line}")));
        body.lines.push(format!("    {name}[i] = {element};"));
        body.lines.push(String::from("}"));
    }
    let address = e.element(&mut body, &a.pointer.clone(), &a.access, "r")?;
    let (mask, suffix) = mask_text(e, &mut body, &a, true)?;
    let defined = super::undefined::defined(e, &mut body, target.origin, &a.access)?;
    e.put(&mut body);
    if let Some(guard) = &guard {
        // The mask says as well which thread's the lane is.
        let (lane, _) = e.lane(&a.access, &a.layout);
        let to = e.names.fresh("to");
        let active = mask.strip_prefix(", ").unwrap_or("true");
        let ask = guard.ask(&to, &lane, defined.as_deref().unwrap_or("true"));
        e.line(format!("auto const {to} = {address};"));
        e.line(format!("if ({active} && {ask}) ts::store<1>({to}, {name});"));
        e.close("}");
        return Ok(());
    }
    e.line(format!(
        "ts::store{suffix}<{}>({address}, {name}{mask});",
        a.width
    ));
    e.close("}");
    Ok(())
}
