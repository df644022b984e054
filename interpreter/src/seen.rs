//! Faults that another engine saw (a GPU's checked build), as findings in the interpreter's words.
//!
//! What is given says where and what; places, names, indices and wording are made as for the interpreter's own.

use std::sync::atomic::AtomicBool;

use tilescope_diagnostics::Finding;
use tilescope_launch::Memory;
use tilescope_launch::fault::{Fault, FaultDetail, Spot};

use crate::report::Reporter;
use crate::sink::{Detail, Entry, Key, Sink};
use crate::tape::{At, Tape, What};
use crate::{Prepared, access};

fn at(tape: &Tape, spot: &Spot) -> At {
    let found = tape.origins.iter().position(|origin| {
        origin.func == spot.function && origin.what == What::Op(spot.op) && *origin.calls == spot.calls[..]
    });
    At(found.map_or(u32::MAX, |i| i as u32))
}

impl Prepared<'_> {
    /// Findings for what another engine saw, sorted by first program, then position.
    pub fn findings_of(&self, memory: &mut Memory, seen: &[Fault]) -> Vec<Finding> {
        let cancel = AtomicBool::new(false);
        let memory = access::Memory::new(self.launch, memory, false, &cancel);
        let reporter = Reporter {
            module: self.module,
            kernel: self.kernel,
            launch: self.launch,
            tape: &self.tape,
            memory: &memory,
        };
        let mut sink = Sink::default();
        for one in seen {
            let key = Key {
                check: one.check,
                at: at(&self.tape, &one.spot),
                tensor: one.tensor.map_or(0, |id| id.0 + 1),
            };
            let lane = one.lane;
            let detail = match &one.detail {
                FaultDetail::Access { kind, address, bytes } => Detail::Access {
                    kind: *kind,
                    lane,
                    address: *address,
                    bytes: *bytes,
                },
                FaultDetail::Condition => Detail::Condition { lane },
                FaultDetail::Division {
                    dividend,
                    divisor,
                    used,
                } => Detail::Division {
                    lane,
                    dividend: *dividend,
                    divisor: *divisor,
                    used: at(&self.tape, used),
                },
            };
            let entry = Entry {
                linear: one.program,
                count: one.count,
                first_count: one.count,
                at_least: false,
                severe: one.severe,
                detail,
            };
            sink.entries.insert(key, entry);
        }
        reporter.findings(&mut sink, &[], false)
    }
}
