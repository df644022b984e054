//! Comparison and selection.

use tilescope_diagnostics::Result;
use tilescope_ir::attrs::{FloatPredicate, IntPredicate, PropagateNan};
use tilescope_ir::{Attrs, Elem, Function, OpId, Scalar};

use super::Emitter;
use super::arith::lanewise;

/// `arith.cmpi`.
pub fn cmp_int(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let Attrs::CmpI(predicate) = data.attrs else {
        return Ok(());
    };
    if let Some(&result) = data.results.first()
        && let Some(value) = e.facts(function, result).value()
    {
        return lanewise(e, function, op, if value == 1 { "true" } else { "false" });
    }
    let is_bool =
        data.operands.first().and_then(|&v| function.ty(v).elem()) == Some(Elem::Scalar(Scalar::I1));
    let signed = if is_bool { "ts::as_signed" } else { "" };
    let (operator, function_name) = match predicate {
        IntPredicate::Eq => ("==", ""),
        IntPredicate::Ne => ("!=", ""),
        IntPredicate::Slt => ("<", signed),
        IntPredicate::Sle => ("<=", signed),
        IntPredicate::Sgt => (">", signed),
        IntPredicate::Sge => (">=", signed),
        IntPredicate::Ult => ("<", "ts::as_unsigned"),
        IntPredicate::Ule => ("<=", "ts::as_unsigned"),
        IntPredicate::Ugt => (">", "ts::as_unsigned"),
        IntPredicate::Uge => (">=", "ts::as_unsigned"),
    };
    let expression = match function_name {
        "" => format!("$0 {operator} $1"),
        name => format!("{name}($0) {operator} {name}($1)"),
    };
    lanewise(e, function, op, &expression)
}

/// `arith.cmpf`.
pub fn cmp_float(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let Attrs::CmpF(predicate) = data.attrs else {
        return Ok(());
    };
    let narrow = data
        .operands
        .first()
        .and_then(|&v| function.ty(v).elem())
        .is_some_and(|elem| elem.bytes() < 4);
    let (a, b) = match narrow {
        true => ("ts::widen($0)", "ts::widen($1)"),
        false => ("$0", "$1"),
    };
    let expression = match predicate {
        FloatPredicate::False => String::from("false"),
        FloatPredicate::True => String::from("true"),
        FloatPredicate::Oeq => format!("{a} == {b}"),
        FloatPredicate::Ogt => format!("{a} > {b}"),
        FloatPredicate::Oge => format!("{a} >= {b}"),
        FloatPredicate::Olt => format!("{a} < {b}"),
        FloatPredicate::Ole => format!("{a} <= {b}"),
        FloatPredicate::One => format!("{a} < {b} || {a} > {b}"),
        FloatPredicate::Ord => String::from("!ts::unordered($0, $1)"),
        FloatPredicate::Ueq => format!("!({a} < {b} || {a} > {b})"),
        FloatPredicate::Ugt => format!("!({a} <= {b})"),
        FloatPredicate::Uge => format!("!({a} < {b})"),
        FloatPredicate::Ult => format!("!({a} >= {b})"),
        FloatPredicate::Ule => format!("!({a} > {b})"),
        FloatPredicate::Une => format!("{a} != {b}"),
        FloatPredicate::Uno => String::from("ts::unordered($0, $1)"),
    };
    lanewise(e, function, op, &expression)
}

/// `arith.select`.
pub fn select(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    lanewise(e, function, op, "$0 ? $1 : $2")
}

/// `tt.clampf`.
pub fn clamp(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    match function.ops[op].attrs {
        Attrs::ClampF(PropagateNan::All) => lanewise(e, function, op, "ts::clamp_nan($0, $1, $2)"),
        _ => lanewise(e, function, op, "ts::clamp($0, $1, $2)"),
    }
}
