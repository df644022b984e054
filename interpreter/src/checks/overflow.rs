//! `address-overflow`: an address whose 32-bit arithmetic wrapped around ([`crate::exact`]).
//!
//! Judged by what reaches the address, so an intermediate that wraps and comes right is silent. Missed: what wraps
//! before an operation that starts again from the real value (a division, a shift right).

use crate::report::Reporter;
use crate::sink::{AccessKind, Entry, Key};
use crate::tape::At;
use tilescope_diagnostics::{Finding, Value};

/// The finding of an address that differs from the exact one by `delta` bytes.
pub fn finding(
    reporter: &Reporter<'_>,
    key: &Key,
    entry: &Entry,
    lane: u32,
    access: (AccessKind, u64, u32),
    delta: i128,
    born: At,
) -> Finding {
    let (kind, address, bytes) = access;
    let verb = match kind {
        AccessKind::Load => "load",
        AccessKind::Store => "store",
        AccessKind::Atomic => "atomic",
        AccessKind::AtomicLoad => "atomic load",
    };
    let name = reporter.tensor_name(key.tensor);
    let target = reporter.memory.target(key.tensor);
    let offset = target.map(|target| i128::from(address as i64) - i128::from(target.origin));
    let elements = |offset: i128| offset / i128::from(bytes.max(1));
    let message = match offset {
        Some(offset) => format!(
            "the offset of this {verb} wrapped around: it is {} elements from the start of {name}, and should be {}",
            elements(offset),
            elements(offset + delta)
        ),
        None => format!("the address of this {verb} wrapped around, by {delta} bytes"),
    };
    let mut finding = reporter.start(key, entry, message);
    finding.lane = reporter.lane_index(key.at, lane);
    finding.born = reporter.location(born);
    if let Some(target) = target {
        let exact = i128::from(address as i64) + delta - i128::from(target.base);
        finding.byte_offset = Some(exact);
        finding.element = target.view.element(exact);
    }
    finding.operands = vec![
        ("address".into(), Value::Int(i128::from(address))),
        (
            "exact address".into(),
            Value::Int(i128::from(address as i64) + delta),
        ),
    ];
    finding.help = Some(
        "compute the offset in 64 bits: `tl.program_id(0).to(tl.int64)`, or declare the stride an i64".into(),
    );
    finding
}
