//! Atomics: each element by one thread; a result that other threads hold too goes through shared memory.
//!
//! Loads and stores that are atomic are volatile ones between fences: what is aligned is read and written in one step.

use std::rc::Rc;

use tilescope_diagnostics::Result;
use tilescope_ir::attrs::{ReduceKind, RmwKind, Semantic};
use tilescope_ir::{Attrs, Elem, Function, OpId, Scalar, Shape, Type, ValueId};
use tilescope_launch::fault::AccessKind;

use super::loops::Body;
use super::memory::{NO_ACCESS, Target};
use super::tile::{Bound, Tile, TileKind};
use super::{Emitter, text, undefined};

/// An atomic: what one element does.
struct Atomic<'a> {
    kind: AccessKind,
    /// The call, with `$0` and so on for the operands.
    call: &'a str,
    /// Operands of the call; one more is a mask.
    arity: usize,
    order: Semantic,
}

/// Fences before and after, by the order asked for.
fn fences(order: Semantic) -> (bool, bool) {
    match order {
        Semantic::Relaxed => (false, false),
        Semantic::Acquire => (false, true),
        Semantic::Release => (true, false),
        Semantic::AcquireRelease => (true, true),
    }
}

/// The pointee of the first operand.
fn pointee(function: &Function, op: OpId) -> Option<Elem> {
    let pointer = function.ty(*function.ops[op].operands.first()?).elem()?;
    Some(pointer.pointer()?.target())
}

/// The header's function for a read-modify-write, where it has one for the type.
fn function_of(kind: RmwKind, elem: Option<Elem>) -> Option<&'static str> {
    let scalar = elem?.scalar()?;
    let known = match kind {
        RmwKind::Fadd => matches!(scalar, Scalar::F16 | Scalar::BF16 | Scalar::F32 | Scalar::F64),
        RmwKind::Xchg => matches!(scalar.bytes(), 2 | 4 | 8),
        _ => matches!(scalar, Scalar::I32 | Scalar::I64),
    };
    known.then_some(match kind {
        RmwKind::And => "rmw_and",
        RmwKind::Or => "rmw_or",
        RmwKind::Xor => "rmw_xor",
        RmwKind::Add => "rmw_add",
        RmwKind::Fadd => "rmw_fadd",
        RmwKind::Max => "rmw_max",
        RmwKind::Min => "rmw_min",
        RmwKind::Umax => "rmw_umax",
        RmwKind::Umin => "rmw_umin",
        RmwKind::Xchg => "rmw_exch",
    })
}

/// `tt.atomic_rmw`.
pub fn atomic_rmw(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let Attrs::Rmw(kind, order, _) = function.ops[op].attrs else {
        return Ok(());
    };
    let elem = pointee(function, op);
    let Some(name) = function_of(kind, elem) else {
        let of = elem.map_or_else(String::new, |elem| format!(" of {elem}"));
        return Err(e.unsupported(function, op, format!("atomic {}{of}", kind.as_str())));
    };
    let atomic = Atomic {
        kind: AccessKind::Atomic,
        call: &format!("ts::{name}($0, $1)"),
        arity: 2,
        order,
    };
    emit(e, function, op, &atomic)
}

/// Refuses elements of a size that no instruction takes.
fn of_word(e: &Emitter<'_>, function: &Function, op: OpId) -> Result<Semantic> {
    let bytes = pointee(function, op).map_or(0, |elem| elem.bytes());
    let data = &function.ops[op];
    match data.attrs {
        Attrs::Atomic(order, _) if matches!(bytes, 2 | 4 | 8) => Ok(order),
        _ => Err(e.unsupported(function, op, format!("{} of {bytes} bytes", data.code))),
    }
}

/// `tt.atomic_cas`.
pub fn atomic_cas(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let order = of_word(e, function, op)?;
    let atomic = Atomic {
        kind: AccessKind::Atomic,
        call: "ts::compare_swap($0, $1, $2)",
        arity: 3,
        order,
    };
    emit(e, function, op, &atomic)
}

/// `tt.atomic_load`.
pub fn atomic_load(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let order = of_word(e, function, op)?;
    let atomic = Atomic {
        kind: AccessKind::AtomicLoad,
        call: "ts::atomic_read($0)",
        arity: 1,
        order,
    };
    emit(e, function, op, &atomic)
}

/// `tt.atomic_store`.
pub fn atomic_store(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let order = of_word(e, function, op)?;
    let atomic = Atomic {
        kind: AccessKind::Atomic,
        call: "ts::atomic_write($0, $1)",
        arity: 2,
        order,
    };
    emit(e, function, op, &atomic)
}

/// `tt.atomic_poll`: pointers, expected values, maybe a limit in nanoseconds.
pub fn atomic_poll(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let order = of_word(e, function, op)?;
    let arity = function.ops[op].operands.len();
    let atomic = Atomic {
        kind: AccessKind::AtomicLoad,
        call: match arity {
            2 => "ts::poll($0, $1, -1)",
            _ => "ts::poll($0, $1, $2)",
        },
        arity,
        order,
    };
    emit(e, function, op, &atomic)
}

/// `tt.descriptor_reduce`: descriptor, the block, the coordinates.
pub fn descriptor_reduce(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let (&[descriptor, value, ref indices @ ..], &Attrs::DescriptorReduce(kind)) =
        (&data.operands[..], &data.attrs)
    else {
        return Ok(());
    };
    let (target, block, elem, _) = super::block::target(e, function, op, descriptor, indices)?;
    let is_unsigned = matches!(
        function.ty(descriptor),
        Type::Descriptor {
            signed: Some(false),
            ..
        }
    );
    let is_float = elem.scalar().is_some_and(Scalar::is_float);
    let kind = match (kind, is_float, is_unsigned) {
        (ReduceKind::Add, true, _) => Some(RmwKind::Fadd),
        (ReduceKind::Add, false, _) => Some(RmwKind::Add),
        (ReduceKind::Min, false, true) => Some(RmwKind::Umin),
        (ReduceKind::Min, false, false) => Some(RmwKind::Min),
        (ReduceKind::Max, false, true) => Some(RmwKind::Umax),
        (ReduceKind::Max, false, false) => Some(RmwKind::Max),
        (ReduceKind::And, false, _) => Some(RmwKind::And),
        (ReduceKind::Or, false, _) => Some(RmwKind::Or),
        (ReduceKind::Xor, false, _) => Some(RmwKind::Xor),
        _ => None,
    };
    let Some(name) = kind.and_then(|kind| function_of(kind, Some(elem))) else {
        return Err(e.unsupported(function, op, format!("this {} of {elem}", data.code)));
    };
    let tile = e.tile(function, op, value)?;
    let tile = super::block::reshaped(e, tile, block);
    let Target { pointer, mask, .. } = target;
    let atomic = Atomic {
        kind: AccessKind::Atomic,
        call: &format!("ts::{name}($0, $1)"),
        arity: 2,
        order: Semantic::Relaxed,
    };
    let tiles: Vec<Rc<Tile>> = [pointer, tile]
        .into_iter()
        .chain(mask.map(|(mask, _)| mask))
        .collect();
    tile_atomic(e, function, op, &atomic, block, elem, descriptor, tiles)
}

/// An atomic of the operation's own operands.
fn emit(e: &mut Emitter<'_>, function: &Function, op: OpId, atomic: &Atomic<'_>) -> Result<()> {
    let data = &function.ops[op];
    let (Some(&pointer), Some(elem)) = (data.operands.first(), pointee(function, op)) else {
        return Ok(());
    };
    let Type::Tile(shape, _) = function.ty(pointer) else {
        return scalar_atomic(e, function, op, atomic, pointer, elem);
    };
    let mask = data.operands.get(atomic.arity).copied();
    let mut tiles = Vec::new();
    for &value in data.operands.iter().take(atomic.arity).chain(&mask) {
        tiles.push(match e.bound(value) {
            Bound::Tile(tile) => tile,
            Bound::Scalar(text) => {
                let elem = function.ty(value).elem().unwrap_or(elem);
                e.make(String::from("s"), shape, elem, TileKind::Splat(text))
            }
            Bound::Block(_) => return Err(e.unsupported(function, op, "an atomic on descriptors")),
        });
    }
    tile_atomic(e, function, op, atomic, shape, elem, pointer, tiles)
}

/// One element per lane: by one thread each.
#[allow(clippy::too_many_arguments, reason = "what an atomic is")]
fn tile_atomic(
    e: &mut Emitter<'_>,
    function: &Function,
    op: OpId,
    atomic: &Atomic<'_>,
    shape: Shape,
    elem: Elem,
    origin: ValueId,
    tiles: Vec<Rc<Tile>>,
) -> Result<()> {
    let data = &function.ops[op];
    let (release, acquire) = fences(atomic.order);
    let layout = e.layout(shape);
    let access = layout.identity();
    for tile in &tiles {
        e.prepare(tile, &access)?;
    }
    let guard = e.guard(function, op, atomic.kind, origin, elem.bytes() as u64)?;
    undefined::prepare(e, origin, &access)?;
    e.flush();
    e.note(data);
    let result = data.results.first().copied().filter(|&v| e.uses(v) > 0);
    let result = match result.and_then(|v| Some((v, function.ty(v).elem()?))) {
        Some((value, elem)) => Some((value, elem, e.name_of(function, value), e.type_of(elem)?)),
        None => None,
    };
    let registers = layout.registers();
    if let Some((_, _, name, ctype)) = &result {
        e.line(format!("{ctype} {name}[{registers}];"));
    }
    if release {
        e.line("ts::fence();");
    }
    e.open_registers(registers, 1);
    let mut body = Body::default();
    let mut values = Vec::new();
    for tile in &tiles {
        values.push(e.element(&mut body, tile, &access, "r")?);
    }
    let defined = undefined::defined(e, &mut body, origin, &access)?;
    e.put(&mut body);
    let mut conditions: Vec<String> = super::checks::mine(&layout).into_iter().collect();
    conditions.extend(values.get(atomic.arity).map(|mask| format!("({mask})")));
    if let (Some(guard), Some(address)) = (guard, values.first()) {
        let lane = e.index(&access, "r");
        conditions.push(guard.ask(address, &lane, defined.as_deref().unwrap_or("true")));
    }
    let call = super::loops::place(atomic.call, &values);
    let condition = match conditions.is_empty() {
        true => String::from("true"),
        false => conditions.join(" && "),
    };
    match &result {
        Some((_, elem, name, _)) => {
            e.line(format!("{name}[r] = {};", text::literal(*elem, 0)));
            e.line(format!("if ({condition}) {name}[r] = {call};"));
        }
        None => e.line(format!("if ({condition}) {call};")),
    }
    e.close("}");
    if acquire {
        e.line("ts::fence();");
    }
    let Some((value, elem, name, ctype)) = result else {
        return Ok(());
    };
    if let Some(mine) = super::checks::mine(&layout) {
        let shared = e.shared((shape.elements() * elem.bytes()) as u32);
        let index = e.index(&access, "r");
        e.open_registers(registers, 1);
        e.line(format!(
            "if ({mine}) ts::at<{ctype}>{shared}[{index}] = {name}[r];"
        ));
        e.close("}");
        e.line("ts::barrier();");
        e.open_registers(registers, 1);
        e.line(format!("{name}[r] = ts::at<{ctype}>{shared}[{index}];"));
        e.close("}");
    }
    let tile = e.make(name, shape, elem, TileKind::Array { layout });
    e.bind(value, Bound::Tile(tile));
    Ok(())
}

/// One element: by the first thread, after all threads have come so far; everybody gets the result.
fn scalar_atomic(
    e: &mut Emitter<'_>,
    function: &Function,
    op: OpId,
    atomic: &Atomic<'_>,
    pointer: ValueId,
    elem: Elem,
) -> Result<()> {
    let data = &function.ops[op];
    let values: Vec<ValueId> = data.operands.to_vec();
    let (release, acquire) = fences(atomic.order);
    e.flush();
    e.note(data);
    let texts: Vec<String> = values.iter().map(|&v| e.scalar(v)).collect();
    let call = super::loops::place(atomic.call, &texts);
    let mut condition = texts.get(atomic.arity).map_or("true", |m| m.as_str()).to_string();
    if let Some(address) = texts.first()
        && let Some(guard) = e.guard(function, op, atomic.kind, pointer, elem.bytes() as u64)?
    {
        let defined = undefined::defined(e, &mut Body::default(), pointer, &NO_ACCESS)?;
        let ask = guard.ask(address, "0", defined.as_deref().unwrap_or("true"));
        condition = format!("{condition} && {ask}");
    }
    if release {
        e.line("ts::fence();");
        e.line("ts::barrier();");
    }
    let result = data.results.first().copied();
    let Some((result, elem)) = result
        .filter(|&v| e.uses(v) > 0 || acquire)
        .and_then(|v| Some((v, function.ty(v).elem()?)))
    else {
        e.line(format!("if (tid == 0 && {condition}) {call};"));
        return Ok(());
    };
    let ctype = e.type_of(elem)?;
    let shared = e.shared(16);
    let zero = text::literal(elem, 0);
    let name = e.name_of(function, result);
    e.line(format!(
        "if (tid == 0) *ts::at<{ctype}>{shared} = {condition} ? {call} : {zero};"
    ));
    e.line("ts::barrier();");
    if acquire {
        e.line("ts::fence();");
    }
    e.line(format!("{ctype} const {name} = *ts::at<{ctype}>{shared};"));
    e.bind(result, Bound::Scalar(name));
    Ok(())
}
