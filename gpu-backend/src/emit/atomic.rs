//! Atomics: each element by one thread; a result that other threads hold too goes through shared memory.

use tilescope_diagnostics::Result;
use tilescope_ir::attrs::{RmwKind, Semantic};
use tilescope_ir::{Attrs, Elem, Function, OpId, Scalar, Type, ValueId};
use tilescope_launch::fault::AccessKind;

use super::loops::Body;
use super::tile::{Bound, TileKind};
use super::{Emitter, text};

/// Fences before and after, by the order asked for.
fn fences(order: Semantic) -> (bool, bool) {
    match order {
        Semantic::Relaxed => (false, false),
        Semantic::Acquire => (false, true),
        Semantic::Release => (true, false),
        Semantic::AcquireRelease => (true, true),
    }
}

/// `tt.atomic_rmw`.
pub fn atomic_rmw(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let Attrs::Rmw(kind, order, _) = data.attrs else {
        return Ok(());
    };
    let elem = data.results.first().and_then(|&v| function.ty(v).elem());
    let name = match kind {
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
    };
    let known = match elem {
        Some(Elem::Scalar(scalar)) => match kind {
            RmwKind::Fadd => matches!(scalar, Scalar::F16 | Scalar::BF16 | Scalar::F32 | Scalar::F64),
            RmwKind::Xchg => matches!(scalar.bytes(), 2 | 4 | 8),
            _ => matches!(scalar, Scalar::I32 | Scalar::I64),
        },
        _ => false,
    };
    if !known {
        let of = elem.map_or_else(String::new, |elem| format!(" of {elem}"));
        return Err(e.unsupported(function, op, format!("atomic {}{of}", kind.as_str())));
    }
    atomic(e, function, op, &format!("ts::{name}($0, $1)"), 2, order)
}

/// `tt.atomic_cas`.
pub fn atomic_cas(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let Attrs::Atomic(order, _) = function.ops[op].attrs else {
        return Ok(());
    };
    let bytes = function.ops[op]
        .results
        .first()
        .and_then(|&v| function.ty(v).elem())
        .map_or(0, |elem| elem.bytes());
    if !matches!(bytes, 2 | 4 | 8) {
        return Err(e.unsupported(function, op, format!("a compare and swap of {bytes} bytes")));
    }
    atomic(e, function, op, "ts::compare_swap($0, $1, $2)", 3, order)
}

/// An atomic of `arity` operands, then maybe a mask.
fn atomic(
    e: &mut Emitter<'_>,
    function: &Function,
    op: OpId,
    expression: &str,
    arity: usize,
    order: Semantic,
) -> Result<()> {
    let data = &function.ops[op];
    let Some(&result) = data.results.first() else {
        return Ok(());
    };
    let Some(elem) = function.ty(result).elem() else {
        return Ok(());
    };
    let ctype = e.type_of(elem)?;
    let (release, acquire) = fences(order);
    let mask = data.operands.get(arity).copied();
    let zero = text::literal(elem, 0);
    let used = e.uses(result) > 0;
    let Type::Tile(shape, _) = function.ty(result) else {
        return scalar_atomic(e, function, op, expression, arity, order);
    };
    let layout = e.layout(shape);
    let access = layout.identity();
    let mut tiles = Vec::new();
    for &value in data.operands.iter().take(arity).chain(&mask) {
        let tile = match e.bound(value) {
            Bound::Tile(tile) => tile,
            Bound::Scalar(text) => {
                let elem = function.ty(value).elem().unwrap_or(elem);
                e.make(String::from("s"), shape, elem, TileKind::Splat(text))
            }
            Bound::Block(_) => return Err(e.unsupported(function, op, "an atomic on descriptors")),
        };
        e.prepare(&tile, &access)?;
        tiles.push(tile);
    }
    let Some(&pointer) = data.operands.first() else {
        return Ok(());
    };
    let guard = e.guard(function, op, AccessKind::Atomic, pointer, elem.bytes() as u64)?;
    super::undefined::prepare(e, pointer, &access)?;
    e.flush();
    e.note(data);
    let name = e.name_of(function, result);
    let registers = layout.registers();
    if used {
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
    let defined = super::undefined::defined(e, &mut body, pointer, &access)?;
    e.put(&mut body);
    let mut conditions = Vec::new();
    if layout.idle_threads() != 0 {
        conditions.push(format!("(tid & {}) == 0", layout.idle_threads()));
    }
    conditions.extend(values.get(arity).cloned());
    if let (Some(guard), Some(address)) = (guard, values.first()) {
        let lane = e.index(&access, "r");
        conditions.push(guard.ask(address, &lane, defined.as_deref().unwrap_or("true")));
    }
    let call = super::loops::place(expression, &values);
    let condition = if conditions.is_empty() {
        String::from("true")
    } else {
        conditions.join(" && ")
    };
    if used {
        e.line(format!("{name}[r] = {zero};"));
        e.line(format!("if ({condition}) {name}[r] = {call};"));
    } else {
        e.line(format!("if ({condition}) {call};"));
    }
    e.close("}");
    if acquire {
        e.line("ts::fence();");
    }
    if !used {
        return Ok(());
    }
    if layout.idle_threads() != 0 {
        let shared = e.shared((shape.elements() * elem.bytes()) as u32);
        let index = e.index(&access, "r");
        e.open_registers(registers, 1);
        e.line(format!(
            "if ((tid & {}) == 0) ts::at<{ctype}>{shared}[{index}] = {name}[r];",
            layout.idle_threads()
        ));
        e.close("}");
        e.line("ts::barrier();");
        e.open_registers(registers, 1);
        e.line(format!("{name}[r] = ts::at<{ctype}>{shared}[{index}];"));
        e.close("}");
    }
    let tile = e.make(name, shape, elem, TileKind::Array { layout });
    e.bind(result, Bound::Tile(tile));
    Ok(())
}

/// One element: by the first thread, after all threads have come so far; everybody gets the result.
fn scalar_atomic(
    e: &mut Emitter<'_>,
    function: &Function,
    op: OpId,
    expression: &str,
    arity: usize,
    order: Semantic,
) -> Result<()> {
    let data = &function.ops[op];
    let values: Vec<ValueId> = data.operands.to_vec();
    let Some(&result) = data.results.first() else {
        return Ok(());
    };
    let Some(elem) = function.ty(result).elem() else {
        return Ok(());
    };
    let ctype = e.type_of(elem)?;
    let (release, acquire) = fences(order);
    e.flush();
    e.note(data);
    let texts: Vec<String> = values.iter().map(|&v| e.scalar(v)).collect();
    let call = super::loops::place(expression, &texts);
    let mut condition = texts.get(arity).map_or("true", |m| m.as_str()).to_string();
    if let (Some(&pointer), Some(address)) = (values.first(), texts.first())
        && let Some(guard) = e.guard(function, op, AccessKind::Atomic, pointer, elem.bytes() as u64)?
    {
        let defined =
            super::undefined::defined(e, &mut Body::default(), pointer, &super::memory::NO_ACCESS)?;
        let ask = guard.ask(address, "0", defined.as_deref().unwrap_or("true"));
        condition = format!("{condition} && {ask}");
    }
    if release {
        e.line("ts::fence();");
        e.line("ts::barrier();");
    }
    if e.uses(result) == 0 && !acquire {
        e.line(format!("if (tid == 0 && {condition}) {call};"));
        return Ok(());
    }
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
