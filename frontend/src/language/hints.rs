//! Hints to the compiler, assertions, prints, barriers.

use std::rc::Rc;

use super::args::{FromArg, Ints};
use super::{Bound, builtins, raw_builtins};
use crate::cx::{Cx, Result};
use crate::konst;
use crate::semantic::hint::Hint;
use crate::value::Value;

raw_builtins! { HINTS in "triton.language", Function, hint;
    "multiple_of" "input, values", "Says that the first value of each contiguous run is a multiple of these.";
    "max_contiguous" "input, values", "Says that values come in contiguous runs of these lengths.";
    "max_constancy" "input, values", "Says that values come in constant runs of these lengths.";
}

builtins! { DEBUG in "triton.language";
    Function "assume" "cond" => assume, "Says that a condition holds.";
    Function "debug_barrier" "" => debug_barrier, "Waits for all threads of the program.";
    Function "static_assert" "cond, msg=\"\"" => static_assert, "Checks a condition at compile time.";
    Function "static_print" "*values, sep=\" \", end=\"\", file=None, flush=False" => static_print,
        "Prints values at compile time.";
    Function "device_print" "prefix, *args, hex=False" => device_print, "Prints values at run time.";
    Function "device_assert" "cond, msg=\"\", mask=None" => device_assert, "Checks a condition at run time.";
}

fn hint(cx: &mut Cx<'_>, args: &Bound) -> Result<Value> {
    let hint = match args.builtin.name {
        "multiple_of" => Hint::Divisibility,
        "max_contiguous" => Hint::Contiguity,
        _ => Hint::Constancy,
    };
    let values = Ints::from_arg(cx, args.arg(1))?;
    cx.hint(hint, args.arg(0).value, &values.0)
}

fn assume(cx: &mut Cx<'_>, condition: Value) -> Result<()> {
    cx.assume(&condition)
}

fn debug_barrier(cx: &mut Cx<'_>) -> Result<()> {
    cx.debug_barrier();
    Ok(())
}

fn static_assert(cx: &mut Cx<'_>, condition: bool, message: Value) -> Result<()> {
    if condition {
        return Ok(());
    }
    Err(match &message {
        Value::Str(text) if !text.is_empty() => cx.error(format!("static assertion failed: {text}")),
        _ => cx.error("static assertion failed"),
    })
}

fn static_print(
    cx: &mut Cx<'_>,
    values: Vec<Value>,
    sep: Rc<str>,
    _end: Value,
    _file: Value,
    _flush: Value,
) -> Result<()> {
    let texts: Vec<String> = values.iter().map(konst::str).collect();
    cx.notes.push(texts.join(&sep));
    Ok(())
}

fn device_print(cx: &mut Cx<'_>, prefix: Rc<str>, args: Vec<Value>, hex: bool) -> Result<()> {
    cx.device_print(&prefix, &args, hex)
}

fn device_assert(cx: &mut Cx<'_>, condition: Value, message: Value, mask: Value) -> Result<()> {
    let message = match &message {
        Value::Str(text) => text.to_string(),
        other => konst::str(other),
    };
    cx.device_assert(&condition, &message, &mask)
}
