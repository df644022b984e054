//! `nan-born`, `inf-born`: the operation that made a NaN or an infinity that reached memory; found by running
//! programs again ([`crate::hunt`]), which says what can be missed. Never wrong: the lane was followed from the
//! operation to the store.

use crate::report::Reporter;
use crate::sink::{Entry, Key};
use crate::tape::{At, Origin, What};
use tilescope_diagnostics::{Check, Finding, Value};
use tilescope_ir::Family;

/// The finding of a birth; `operands` are those of the lane, as far as they have one.
pub fn finding(
    reporter: &Reporter<'_>,
    key: &Key,
    entry: &Entry,
    lane: u32,
    value: f64,
    operands: &[f64],
    used: At,
) -> Finding {
    let origin = reporter.origin(key.at);
    let name = match origin.what {
        What::Op(op) => reporter.module.funcs[origin.func].ops[op].code.info().mnemonic,
        What::Param(_) => "an operation",
    };
    let words: Vec<String> = operands.iter().map(|x| format!("{x:?}")).collect();
    let of = match words.is_empty() {
        true => String::new(),
        false => format!(" of {}", words.join(" and ")),
    };
    // Only operations in the region of a reduce, scan or map show no operands of arithmetic.
    let name = match words.is_empty() && (name.starts_with("arith.") || name.starts_with("math.")) {
        true => format!("a step of a reduction or scan ({name})"),
        false => name.to_string(),
    };
    let is = match key.check {
        Check::NanBorn => String::from("NaN"),
        _ => value.to_string(),
    };
    let atomic = match reporter.origin(used) {
        Origin {
            func,
            what: What::Op(op),
            ..
        } => reporter.module.funcs[func].ops[op].code.info().family == Family::Atomic,
        _ => false,
    };
    let fate = if atomic {
        "an atomic takes it to memory"
    } else {
        "it is stored"
    };
    let message = format!("{name}{of} is {is}, and {fate}");
    let mut finding = reporter.start(key, entry, message);
    // Only some programs were looked at.
    finding.count_at_least = true;
    finding.lane = reporter.lane_index(key.at, lane);
    finding.used = reporter.location(used);
    let names = ["a", "b", "c"];
    finding.operands = names
        .iter()
        .zip(operands)
        .map(|(name, &x)| (name.to_string(), Value::Float(x)))
        .collect();
    finding.help = Some(
        match key.check {
            Check::NanBorn => "keep the special case from the operation: `tl.where` on its operands, not on its result",
            _ => "subtract the maximum first, or compute in a wider type; an infinity that is meant can be suppressed",
        }
        .into(),
    );
    finding
}
