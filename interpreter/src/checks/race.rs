//! `race-write-write`, `race-read-write`, `benign-race`: two programs touch the same bytes, one of them writes,
//! and nothing orders them. Found in [`crate::races`] from which programs touched what, or in [`crate::ordered`]
//! where programs synchronise.
//!
//! Exact at any size: no access is left out. Told are, for each place and tensor, the first race of two writes and the
//! first of a read and a write; of bytes that several programs write, reads are not told: they have one cause.
//! A race is benign if a second run, whose stores are compared with what memory holds, finds no other value;
//! kernels that read what they write, or update it atomically, are not run again, and count as not benign.

use crate::races::{Race, Touch};
use crate::report::Reporter;
use tilescope_diagnostics::{Check, Finding};

/// The finding of a race; `equal` if all programs write the same bytes and none reads them.
pub fn finding(reporter: &Reporter<'_>, race: &Race, equal: bool) -> Finding {
    let check = match (race.is_write_write(), equal) {
        (true, true) => Check::BenignRace,
        (true, false) => Check::RaceWriteWrite,
        (false, _) => Check::RaceReadWrite,
    };
    let tensor = race.later.tensor;
    let (later, earlier) = race.programs;
    let place = |linear: u32| {
        let [x, y, z] = reporter.program(u64::from(linear));
        format!("({x}, {y}, {z})")
    };
    let verb = |touch: Touch| match touch {
        Touch::Read => "loads",
        Touch::Write => "stores",
        Touch::Atomic => "updates",
    };
    let target = reporter.memory.target(tensor);
    let element = target.and_then(|target| target.view.element(i128::from(race.offset)));
    let what = match &element {
        Some(element) => format!("element {element:?} of {}", reporter.tensor_name(tensor)),
        None => format!("the same bytes of {}", reporter.tensor_name(tensor)),
    };
    let (own, other) = (verb(race.later.touch), verb(race.earlier.touch));
    let end = match check {
        Check::BenignRace => "all of them the same values",
        _ => "and nothing orders them",
    };
    let message = format!(
        "program {} {own} {what}, which program {} {other} too, {end}",
        place(later),
        place(earlier)
    );
    let mut finding = Finding::new(check, reporter.kernel(), message);
    finding.count = race.bytes / u64::from(race.later.elem).max(1);
    finding.program = Some(reporter.program(u64::from(later)));
    reporter.locate(&mut finding, race.later.at);
    finding.other = reporter.location(race.earlier.at);
    finding.tensor = Some(reporter.tensor_ref(tensor));
    finding.element = element;
    finding.byte_offset = Some(i128::from(race.offset));
    finding.help = Some(help(check, race).into());
    finding
}

fn help(check: Check, race: &Race) -> &'static str {
    match (check, race.later.touch, race.earlier.touch) {
        (Check::BenignRace, ..) => {
            "harmless as long as the values are equal; let one program write, or use its program id in the address"
        }
        (_, Touch::Atomic, _) | (_, _, Touch::Atomic) => {
            "an atomic and a plain access of the same bytes race: make both atomic, or order them by a release and an acquire"
        }
        (Check::RaceWriteWrite, ..) => {
            "give each program its own elements (is the program id in the address?), or add them up with tl.atomic_add"
        }
        _ => {
            "order the programs: an atomic with sem=\"release\" after the store, one with sem=\"acquire\" before the load; or split the kernel in two launches"
        }
    }
}
