//! `shift-out-of-range`: found by the shift ([`crate::steps::arith`]), reported where its lane is used
//! ([`crate::taint`]).

use crate::report::Reporter;
use crate::sink::{Entry, Key};
use crate::tape::At;
use tilescope_diagnostics::{Finding, Value};

/// The finding of a shift without a result that reached a use; `operands` are the value and the amount.
pub fn finding(
    reporter: &Reporter<'_>,
    key: &Key,
    entry: &Entry,
    lane: u32,
    operands: [i64; 2],
    width: u32,
    used: At,
) -> Finding {
    let [value, amount] = operands;
    let message = format!("shift of a {width}-bit integer by {amount}, and the result is used");
    let mut finding = reporter.start(key, entry, message);
    finding.lane = reporter.lane_index(key.at, lane);
    finding.used = reporter.location(used);
    finding.operands = vec![
        ("value".into(), Value::Int(i128::from(value))),
        ("amount".into(), Value::Int(i128::from(amount))),
    ];
    finding.help = Some(format!(
        "shift by 0 to {}: cast to a wider type first, or mask the lanes with other amounts",
        width.saturating_sub(1)
    ));
    finding
}
