//! Faults that another engine saw (a GPU's checked build), as findings in the interpreter's words.
//!
//! What is given says where and what; places, names, indices and wording are made as for the interpreter's own.

use std::sync::atomic::AtomicBool;

use tilescope_diagnostics::{CheckSet, Finding, Printed};
use tilescope_ir::Attrs;
use tilescope_launch::Memory;
use tilescope_launch::fault::{Fault, FaultDetail, Line, Spot};

use crate::kind::Kind;
use crate::report::Reporter;
use crate::sink::{Detail, Entry, Key, Sink};
use crate::tape::{At, Tape, What};
use crate::{Prepared, access, print};

fn at(tape: &Tape, spot: &Spot) -> At {
    let found = tape.origins.iter().position(|origin| {
        origin.func == spot.function && origin.what == What::Op(spot.op) && *origin.calls == spot.calls[..]
    });
    At(found.map_or(u32::MAX, |i| i as u32))
}

impl Prepared<'_> {
    /// What another engine's programs printed, as text.
    pub fn printed_of(&self, memory: &mut Memory, lines: &[Line]) -> Vec<Printed> {
        let cancel = AtomicBool::new(false);
        let memory = access::Memory::new(self.launch, memory, CheckSet::NONE, &cancel);
        let reporter = Reporter {
            module: self.module,
            kernel: self.kernel,
            launch: self.launch,
            tape: &self.tape,
            memory: &memory,
        };
        let mut sink = Sink::default();
        for line in lines {
            sink.begin(line.program);
            sink.print(at(&self.tape, &line.spot), self.text_of(line));
        }
        reporter.prints(&sink)
    }

    /// The text of a line, as the interpreter's own.
    fn text_of(&self, line: &Line) -> String {
        let function = &self.module.funcs[line.spot.function];
        let op = &function.ops[line.spot.op];
        let Attrs::Print(attrs) = &op.attrs else {
            return String::new();
        };
        let mut text = attrs.prefix.trim().to_string();
        for (i, (&value, lanes)) in op.operands.iter().zip(&line.operands).enumerate() {
            let ty = function.ty(value);
            let shape: Vec<usize> = ty.shape().map_or(Vec::new(), |shape| shape.dims().collect());
            let kind = ty.elem().and_then(Kind::of).unwrap_or(Kind::I64);
            let signed = attrs.signed.get(i).copied().unwrap_or(true);
            let one =
                |lane: usize| print::lane(lanes.get(lane).copied().unwrap_or(0), kind, signed, attrs.hex);
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(&print::nested(&shape, one));
        }
        text
    }

    /// Findings for what another engine saw, sorted by first program, then position.
    pub fn findings_of(&self, memory: &mut Memory, seen: &[Fault]) -> Vec<Finding> {
        let cancel = AtomicBool::new(false);
        let memory = access::Memory::new(self.launch, memory, CheckSet::NONE, &cancel);
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
