//! `step-limit`: a program went on for too long; enforced at jumps back ([`crate::machine`]).

use crate::report::Reporter;
use crate::sink::{Entry, Key};
use tilescope_diagnostics::Finding;

/// The finding of a program that did not end.
pub fn finding(reporter: &Reporter<'_>, key: &Key, entry: &Entry, limit: u64) -> Finding {
    let message = format!("the program executed more than {limit} operations, and is in this loop");
    let mut finding = reporter.start(key, entry, message);
    finding.help = Some("check what ends the loop, or raise the limit with --max-steps".into());
    finding
}
