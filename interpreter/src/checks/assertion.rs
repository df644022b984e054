//! `assert-failed`, `assume-violated`: false lanes of `tl.device_assert` and `tl.assume`.

use crate::report::Reporter;
use crate::sink::{Entry, Key};
use crate::tape::What;
use tilescope_diagnostics::{Check, Finding, Value};
use tilescope_ir::Attrs;

/// The finding of a false lane.
pub fn finding(reporter: &Reporter<'_>, key: &Key, entry: &Entry, lane: u32) -> Finding {
    let origin = &reporter.origin(key.at);
    let text = match origin.what {
        What::Op(op) => match &reporter.module.funcs[origin.func].ops[op].attrs {
            Attrs::Message(message) => message.trim().to_string(),
            _ => String::new(),
        },
        What::Param(_) => String::new(),
    };
    let (message, help) = match key.check {
        Check::AssertFailed if text.is_empty() => ("assertion failed".to_string(), None),
        Check::AssertFailed => (format!("assertion failed: {text}"), None),
        _ => (
            "tl.assume is false: a compiler may generate wrong code from it".to_string(),
            Some("make the condition hold, or remove the tl.assume".to_string()),
        ),
    };
    let mut finding = reporter.start(key, entry, message);
    finding.lane = reporter.lane_index(key.at, lane);
    finding.operands = vec![("condition".into(), Value::Bool(false))];
    finding.help = help;
    finding
}
