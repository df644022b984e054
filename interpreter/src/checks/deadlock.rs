//! `deadlock`: every program that has not ended waits in a loop for what no other will do ([`crate::schedule`]).
//!
//! A program counts as waiting once it came back to one place with the same values while no byte changed; so a
//! deadlock is never reported where somebody could still go on.

use crate::report::Reporter;
use crate::sink::{Entry, Key};
use tilescope_diagnostics::Finding;

/// The finding of programs that wait for each other.
pub fn finding(reporter: &Reporter<'_>, key: &Key, entry: &Entry, waiting: u64) -> Finding {
    let message = match waiting {
        1 => "one program waits here for what no other will do".to_string(),
        _ => format!("{waiting} programs wait, the first of them here, and none can go on"),
    };
    let mut finding = reporter.start(key, entry, message);
    finding.help = Some(
        "look for what should end the wait: a lock that is not released, a flag that is not set or set to another value, programs that wait for each other in different orders"
            .into(),
    );
    finding
}
