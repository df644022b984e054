//! `oob-load`, `oob-store`, `oob-atomic`, `outside-view`, `wild-pointer`, `misaligned`,
//! `store-to-input`: judged in [`crate::access`], worded here.

use crate::report::Reporter;
use crate::sink::{AccessKind, Entry, Key};
use crate::tape::What;
use tilescope_diagnostics::{Check, Finding, Severity, Value};
use tilescope_ir::OpCode;

/// The finding of a faulty access.
pub fn finding(
    reporter: &Reporter<'_>,
    key: &Key,
    entry: &Entry,
    kind: AccessKind,
    lane: u32,
    address: u64,
    bytes: u32,
) -> Finding {
    let verb = match kind {
        AccessKind::Load => "load",
        AccessKind::Store => "store",
        AccessKind::Atomic => "atomic",
        AccessKind::AtomicLoad => "atomic load",
    };
    let place = Place::new(reporter, key, address, bytes);
    let name = &place.name;
    let message = match key.check {
        Check::WildPointer if address == 0 => format!("{verb} through a null pointer"),
        Check::WildPointer => format!("{verb} at address 0x{address:x}, which derives from no tensor"),
        Check::Misaligned => format!(
            "{verb} of {bytes} bytes from {name} at an address that is no multiple of {bytes}: {} bytes past one",
            address % u64::from(bytes)
        ),
        Check::StoreToInput => format!("{verb} to {name}, an argument of role \"in\""),
        Check::OutsideView => format!(
            "{verb} {} {name}'s view but inside its storage{}",
            place.distance_words(),
            place.victim_words("which belongs to")
        ),
        _ => format!(
            "{verb} {} the storage of {name}{}",
            place.distance_words(),
            place.victim_words("which is inside")
        ),
    };
    let mut finding = reporter.start(key, entry, message);
    finding.lane = reporter.lane_index(key.at, lane);
    finding.element = place.element;
    finding.byte_offset = place.offset;
    let before = place.distance.is_some_and(|(_, before)| before);
    finding.help = match (before, key.check) {
        (true, Check::OobLoad | Check::OobStore | Check::OobAtomic) => Some(
            "an offset is negative: mask these lanes (`mask=offsets >= 0`), or look for what was subtracted"
                .into(),
        ),
        (false, Check::OobLoad | Check::OobStore | Check::OobAtomic)
            if finding.lane.as_ref().is_some_and(Vec::is_empty) && !is_descriptor(code(reporter, key)) =>
        {
            Some(
                "a single element: check the tensor's size and what the index is made of, or access it only `if index < size:`"
                    .into(),
            )
        }
        _ => help(key.check, kind, code(reporter, key)).map(str::to_string),
    };
    if key.check == Check::OutsideView && entry.severe.is_some() {
        finding.severity = Severity::Error;
    }
    finding.operands = vec![("address".into(), Value::Int(i128::from(address)))];
    finding
}

/// The operation at fault.
fn code(reporter: &Reporter<'_>, key: &Key) -> Option<OpCode> {
    let origin = reporter.origin(key.at);
    match origin.what {
        What::Op(op) => Some(reporter.module.funcs[origin.func].ops[op].code),
        What::Param(_) => None,
    }
}

fn help(check: Check, kind: AccessKind, code: Option<OpCode>) -> Option<&'static str> {
    let is_outside = matches!(
        check,
        Check::OobLoad | Check::OobStore | Check::OobAtomic | Check::OutsideView
    );
    Some(match (check, kind) {
        _ if is_outside && is_descriptor(code) => {
            "the shape or strides given to the descriptor do not fit the tensor: lanes outside the shape need no mask"
        }
        _ if is_outside && code == Some(OpCode::AtomicPoll) => {
            "a poll has no mask: wait only where there is something to wait for"
        }
        (Check::OobLoad | Check::OutsideView, AccessKind::Load) => {
            "mask the lanes past the end: `tl.load(ptr, mask=offsets < size, other=0.0)`"
        }
        (Check::OobStore | Check::OutsideView, AccessKind::Store) => {
            "mask the lanes past the end: `tl.store(ptr, value, mask=offsets < size)`"
        }
        (Check::OobAtomic | Check::OutsideView, _) => "give the atomic a mask: `mask=offsets < size`",
        (Check::WildPointer, _) => {
            "an argument that may be None must not be dereferenced: test it in the kernel first"
        }
        (Check::Misaligned, _) => {
            "the pointer's element type and the offset arithmetic do not agree: offsets count elements"
        }
        (Check::StoreToInput, _) => {
            "write to another argument, or give this one role \"inout\" in the launch file"
        }
        _ => return None,
    })
}

fn is_descriptor(code: Option<OpCode>) -> bool {
    matches!(
        code,
        Some(
            OpCode::DescriptorLoad
                | OpCode::DescriptorStore
                | OpCode::DescriptorGather
                | OpCode::DescriptorScatter
                | OpCode::DescriptorReduce
        )
    )
}

/// Where an address lies, in terms of tensors.
struct Place {
    name: String,
    offset: Option<i128>,
    element: Option<Vec<i64>>,
    /// Bytes to the nearest valid one, and whether the access lies before it.
    distance: Option<(i128, bool)>,
    victim: Option<String>,
}

impl Place {
    fn new(reporter: &Reporter<'_>, key: &Key, address: u64, bytes: u32) -> Place {
        let memory = reporter.memory;
        let Some(target) = memory.target(key.tensor) else {
            return Place {
                name: "memory".into(),
                offset: None,
                element: None,
                distance: None,
                victim: None,
            };
        };
        let offset = i128::from(address) - i128::from(target.base);
        let bytes = i128::from(bytes);
        let distance = match key.check {
            Check::OutsideView => Some(target.view.distance(offset, bytes)).filter(|&d| d > 0),
            _ if offset + bytes > i128::from(target.len) => Some(offset - i128::from(target.len) + 1),
            _ => Some(-(offset + bytes) + 1),
        };
        let before = offset < 0 || key.check == Check::OutsideView && target.view.is_before(offset);
        let victim = reporter.owner_other_than(key.tensor, address);
        Place {
            name: reporter.tensor_name(key.tensor),
            offset: Some(offset),
            element: target.view.element(offset),
            distance: distance.map(|d| (d.max(1), before)),
            victim,
        }
    }

    /// "4 bytes past the end of", "12 bytes before the start of", "in a gap of".
    fn distance_words(&self) -> String {
        let plural = |n: i128| {
            if n == 1 {
                "1 byte".to_string()
            } else {
                format!("{n} bytes")
            }
        };
        match self.distance {
            Some((n, true)) => format!("{} before the start of", plural(n)),
            Some((n, false)) => format!("{} past the end of", plural(n)),
            None => "in a gap of".into(),
        }
    }

    fn victim_words(&self, how: &str) -> String {
        self.victim
            .as_ref()
            .map_or(String::new(), |victim| format!(", {how} {victim}"))
    }
}
