//! The checks: what each one looks at, and how its finding is worded.
//!
//! Detection is on the path of the operation (an access, a division, an assert) and leaves a small
//! [`crate::sink::Entry`]; here an entry becomes a [`Finding`], one constructor per check, once per launch.

pub mod access;
pub mod assertion;
pub mod born;
pub mod conversion;
pub mod deadlock;
pub mod division;
pub mod duplicate;
pub mod hint;
pub mod missing_barrier;
pub mod overflow;
pub mod race;
pub mod shift;
pub mod step_limit;
pub mod target_limit;
pub mod undefined;
pub mod unwritten;

use crate::report::Reporter;
use crate::sink::{Detail, Entry, Key};
use tilescope_diagnostics::Finding;

/// The finding of an entry.
pub fn finding(reporter: &Reporter<'_>, key: &Key, entry: &Entry) -> Finding {
    match &entry.detail {
        Detail::Access {
            kind,
            lane,
            address,
            bytes,
        } => access::finding(reporter, key, entry, *kind, *lane, *address, *bytes),
        Detail::Division {
            lane,
            dividend,
            divisor,
            used,
        } => division::finding(reporter, key, entry, *lane, *dividend, *divisor, *used),
        Detail::Shift {
            lane,
            value,
            amount,
            width,
            used,
        } => shift::finding(reporter, key, entry, *lane, [*value, *amount], *width, *used),
        Detail::Conversion { lane, value, used } => {
            conversion::finding(reporter, key, entry, *lane, *value, *used)
        }
        Detail::Duplicate {
            lane,
            by,
            address,
            values,
        } => duplicate::finding(reporter, key, entry, (*lane, *by), *address, *values),
        Detail::Overflow {
            lane,
            kind,
            address,
            delta,
            bytes,
            born,
        } => overflow::finding(
            reporter,
            key,
            entry,
            *lane,
            (*kind, *address, *bytes),
            *delta,
            *born,
        ),
        Detail::Undefined {
            lane,
            born,
            how,
            from,
        } => undefined::finding(reporter, key, entry, *lane, *born, *how, *from),
        Detail::Condition { lane } => assertion::finding(reporter, key, entry, *lane),
        Detail::Hint { promise, lane, value } => hint::finding(reporter, key, entry, promise, *lane, *value),
        Detail::Special {
            lane,
            value,
            operands,
            count,
            used,
        } => {
            let operands = operands.get(..usize::from(*count)).unwrap_or_default();
            born::finding(reporter, key, entry, *lane, *value, operands, *used)
        }
        Detail::Reread {
            lane,
            by,
            address,
            bytes,
            stored,
        } => missing_barrier::finding(reporter, key, entry, (*lane, *by), (*address, *bytes), *stored),
        Detail::Misfit { part, bytes, target } => {
            target_limit::finding(reporter, key, entry, *part, *bytes, target)
        }
        Detail::Deadlock(waiting) => deadlock::finding(reporter, key, entry, *waiting),
        Detail::Steps(limit) => step_limit::finding(reporter, key, entry, *limit),
    }
}
