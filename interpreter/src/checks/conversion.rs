//! `float-to-int-range`: found by the conversion ([`crate::steps::cast`]), reported where its lane is used
//! ([`crate::taint`]).

use crate::report::Reporter;
use crate::sink::{Entry, Key};
use crate::tape::{At, What};
use tilescope_diagnostics::{Finding, Value};

/// The finding of a conversion without a result that reached a use.
pub fn finding(
    reporter: &Reporter<'_>,
    key: &Key,
    entry: &Entry,
    lane: u32,
    value: f64,
    used: At,
) -> Finding {
    let origin = reporter.origin(key.at);
    let function = &reporter.module.funcs[origin.func];
    let elem = match origin.what {
        What::Op(op) => function.result(op).and_then(|result| function.ty(result).elem()),
        What::Param(_) => None,
    };
    let to = elem.map_or("an integer".to_string(), |elem| elem.to_string());
    let message = match value.is_nan() {
        true => format!("NaN converted to {to}, and the result is used"),
        false => format!("{value} has no value in {to}, and the converted lane is used"),
    };
    let mut finding = reporter.start(key, entry, message);
    finding.lane = reporter.lane_index(key.at, lane);
    finding.used = reporter.location(used);
    finding.operands = vec![("value".into(), Value::Float(value))];
    finding.help =
        Some("clamp to the range of the integer type before the conversion, and replace NaN".into());
    finding
}
