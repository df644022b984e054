//! Constants and element-wise operations: the expressions are those of the op table.

use std::rc::Rc;

use tilescope_diagnostics::Result;
use tilescope_ir::{Attrs, Class, Constant, Elem, Function, OpCode, OpId, Scalar, Type};

use super::tile::{Bound, Tile, TileKind};
use super::{Emitter, MAX_COST, text};

/// Emits an operation that computes each lane alone. `expression` has `$0` and so on for the operands.
pub fn lanewise(e: &mut Emitter<'_>, function: &Function, op: OpId, expression: &str) -> Result<()> {
    let data = &function.ops[op];
    let Some(&result) = data.results.first() else {
        return Ok(());
    };
    let ty = function.ty(result);
    let (Type::Tile(shape, elem), true) = (ty, ty.shape().is_some()) else {
        e.note(data);
        let operands: Vec<String> = data.operands.iter().map(|&v| e.scalar(v)).collect();
        return e.define(function, result, &super::loops::place(expression, &operands));
    };
    let mut operands: Vec<(Option<tilescope_ir::ValueId>, Rc<Tile>)> = Vec::new();
    for &value in &data.operands {
        let tile = match e.bound(value) {
            Bound::Tile(tile) => tile,
            // A scalar condition of a select, for instance.
            Bound::Scalar(text) => {
                let elem = function.ty(value).elem().unwrap_or(elem);
                e.make(String::from("s"), shape, elem, TileKind::Splat(text))
            }
            Bound::Block(_) => return Err(e.unsupported(function, op, "arithmetic on descriptors")),
        };
        operands.push((Some(value), tile));
    }
    let cost = operands
        .iter()
        .fold(1u32, |sum, (_, t)| sum.saturating_add(t.cost));
    let reads = operands.iter().any(|(_, t)| t.reads);
    let name = e.name_of(function, result);
    if !reads && cost <= MAX_COST {
        let kind = TileKind::Op {
            text: expression.to_string(),
            operands: operands.into_iter().map(|(_, t)| t).collect(),
        };
        let tile = e.make(name, shape, elem, kind);
        e.bind(result, Bound::Tile(tile));
        return Ok(());
    }
    let comment = e.comment(data);
    let model = e.make(name, shape, elem, TileKind::Range { start: 0 });
    e.compute(Some(result), &model, &operands, expression, comment)?;
    Ok(())
}

/// `$0`, `$1`, … as the table's operands.
fn table_expression(expression: &str, arity: usize) -> String {
    let operands: Vec<String> = (0..arity).map(|i| format!("${i}")).collect();
    text::substitute(expression, &operands)
}

/// Any element-wise operation of the table.
pub fn elementwise(e: &mut Emitter<'_>, function: &Function, op: OpId, class: Class) -> Result<()> {
    let data = &function.ops[op];
    let expression = match exact(e, function, op) {
        Some(plain) => plain.to_string(),
        None => table_expression(data.code.info().cuda.unwrap_or("a"), class.arity()),
    };
    let elem = data.results.first().and_then(|&v| function.ty(v).elem());
    if let Some(Elem::Scalar(scalar)) = elem
        && scalar.is_float()
        && scalar.bits() == 8
    {
        return Err(e.unsupported(function, op, format!("{} of {scalar}", data.code)));
    }
    lanewise(e, function, op, &expression)
}

/// The plain C++ operator, where bounds show that it means the same: no overflow, no division by zero, nothing negative.
fn exact(e: &Emitter<'_>, function: &Function, op: OpId) -> Option<&'static str> {
    let data = &function.ops[op];
    let &result = data.results.first()?;
    let elem = function.ty(result).elem()?.scalar()?;
    if !matches!(elem, Scalar::I32 | Scalar::I64 | Scalar::Index) {
        return None;
    }
    let facts = |i: usize| data.operands.get(i).map(|&v| e.facts(function, v));
    let bounded = || e.facts(function, result).range.is_some();
    let positive_divisor = || {
        facts(0)?.range.filter(|r| r.0 >= 0)?;
        facts(1)?.range.filter(|r| r.0 > 0)
    };
    match data.code {
        OpCode::AddI => bounded().then_some("$0 + $1"),
        OpCode::SubI => bounded().then_some("$0 - $1"),
        OpCode::MulI => bounded().then_some("$0 * $1"),
        OpCode::DivSI | OpCode::DivUI => positive_divisor().map(|_| "$0 / $1"),
        OpCode::RemSI | OpCode::RemUI => positive_divisor().map(|_| "$0 % $1"),
        _ => None,
    }
}

/// `arith.constant`.
pub fn constant(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let (Some(&result), Attrs::Constant(constant)) = (data.results.first(), &data.attrs) else {
        return Ok(());
    };
    let ty = function.ty(result);
    let Some(elem) = ty.elem() else { return Ok(()) };
    let ctype = e.type_of(elem)?;
    let bound = match (ty, constant) {
        (Type::Tile(shape, _), Constant::Splat(bits)) => {
            let kind = TileKind::Splat(text::literal(elem, *bits));
            Bound::Tile(e.make(String::from("c"), shape, elem, kind))
        }
        (Type::Tile(shape, _), Constant::Dense(values)) => {
            let name = e.name_of(function, result);
            let items: Vec<String> = values.iter().map(|&bits| text::literal(elem, bits)).collect();
            e.prologue.push(format!(
                "const {ctype} {name}[{}] = {{{}}};",
                values.len(),
                items.join(", ")
            ));
            Bound::Tile(e.make(name.clone(), shape, elem, TileKind::Table(name)))
        }
        (_, Constant::Splat(bits)) => Bound::Scalar(text::literal(elem, *bits)),
        (_, Constant::Dense(values)) => {
            Bound::Scalar(text::literal(elem, values.first().copied().unwrap_or(0)))
        }
    };
    e.bind(result, bound);
    Ok(())
}

/// `ub.poison`: any value will do; zero is what the interpreter takes.
pub fn poison(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let Some(&result) = function.ops[op].results.first() else {
        return Ok(());
    };
    let ty = function.ty(result);
    let Some(elem) = ty.elem() else {
        return Err(e.unsupported(function, op, format!("a poison value of type {ty}")));
    };
    e.type_of(elem)?;
    let zero = text::literal(elem, 0);
    let bound = match ty {
        Type::Tile(shape, _) => Bound::Tile(e.make(String::from("c"), shape, elem, TileKind::Splat(zero))),
        _ => Bound::Scalar(zero),
    };
    e.bind(result, bound);
    Ok(())
}
