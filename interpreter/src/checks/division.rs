//! `div-by-zero`: found by the division ([`crate::steps::arith`]), reported where its lane is used
//! ([`crate::taint`]).

use crate::report::Reporter;
use crate::sink::{Entry, Key};
use crate::tape::At;
use tilescope_diagnostics::{Finding, Value};

/// The finding of a division without a result that reached a use.
pub fn finding(
    reporter: &Reporter<'_>,
    key: &Key,
    entry: &Entry,
    lane: u32,
    dividend: i64,
    divisor: i64,
    used: At,
) -> Finding {
    let message = match divisor {
        0 => format!("integer division of {dividend} by zero, and the result is used"),
        _ => format!("{dividend} divided by {divisor} has no result in this type, and the result is used"),
    };
    let mut finding = reporter.start(key, entry, message);
    finding.lane = reporter.lane_index(key.at, lane);
    finding.used = reporter.location(used);
    finding.operands = vec![
        ("dividend".into(), Value::Int(i128::from(dividend))),
        ("divisor".into(), Value::Int(i128::from(divisor))),
    ];
    finding.help =
        Some("make the divisor non-zero in every lane that is used, for example with `tl.where`".into());
    finding
}
