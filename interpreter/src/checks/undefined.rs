//! `undefined-lane` and `uninit-load`: lanes that a load left without a value, found where they are used
//! ([`crate::taint`]).
//!
//! Nothing is missed that reaches a use in the same program; what a lane that was reported leads to is not
//! reported again. Never wrong: a lane counts as used only where it decides something or is stored.

use crate::report::Reporter;
use crate::sink::{Entry, Key};
use crate::taint::Use;
use crate::tape::At;
use tilescope_diagnostics::{Check, Finding, Value};

/// The finding of an undefined lane that reached a use; `from` is the address and size of an element that
/// nothing wrote.
pub fn finding(
    reporter: &Reporter<'_>,
    key: &Key,
    entry: &Entry,
    lane: u32,
    born: At,
    how: Use,
    from: Option<(u64, u32)>,
) -> Finding {
    let use_words = match how {
        Use::Stored => "is stored",
        Use::Address => "is part of an address",
        Use::Mask => "decides whether a lane is accessed",
        Use::Condition => "decides a branch or a loop",
        Use::Atomic => "is an operand of an atomic",
        Use::Asserted => "is asserted",
        Use::Printed => "is printed",
    };
    let name = match key.tensor {
        0 => "no tensor".to_string(),
        tensor => reporter.tensor_name(tensor),
    };
    let message = match key.check {
        Check::UninitLoad if born == key.at => {
            format!("this atomic reads {name}, where nothing was written before")
        }
        Check::UninitLoad => {
            format!("a value loaded from {name}, where nothing was written before, {use_words}")
        }
        _ if key.tensor == 0 => format!("a lane without a value {use_words}"),
        _ => format!("a lane that a masked load from {name} left undefined {use_words}"),
    };
    let mut finding = reporter.start(key, entry, message);
    finding.lane = reporter.lane_index(key.at, lane);
    finding.born = match born == key.at {
        true => None,
        false => reporter.location(born),
    };
    if let (Some((address, _)), Some(target)) = (from, reporter.memory.target(key.tensor)) {
        let offset = i128::from(address) - i128::from(target.base);
        finding.byte_offset = Some(offset);
        finding.element = target.view.element(offset);
        finding.operands = vec![("address".into(), Value::Int(i128::from(address)))];
    }
    finding.help = Some(
        match key.check {
            Check::UninitLoad => {
                "store to these elements first, or give the argument a fill in the launch file (`fill = \"zeros\"`)"
            }
            _ => "give the load a value for masked-off lanes (`other=0.0`), or mask the use as well",
        }
        .into(),
    );
    finding
}
