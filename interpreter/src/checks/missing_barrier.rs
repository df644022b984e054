//! `missing-barrier`: a program loads bytes that it stored through other lanes, or through a tile of another shape, with
//! no `tl.debug_barrier` or release between.
//!
//! Here a program is one thread, and what it loads is right. On a GPU its lanes are different threads: the one that
//! loads may come before the one that stores. The same lane of a tile of the same shape (dimensions of one left out)
//! counts as the same thread; what a program updates by atomics is not followed, and neither are stores beyond
//! 2^18 separate runs between two barriers.
//!
//! Only for storage that a load may meet an earlier store in are the accesses of a kernel followed by `Note`s.

use crate::access::Access;
use crate::analysis::rereads::is_barrier;
use crate::frame::Slot;
use crate::kind::Kind;
use crate::lower::Lower;
use crate::machine::{Flow, Machine, Stop};
use crate::report::Reporter;
use crate::reread::{Lanes, ShapeId};
use crate::sink::{AccessKind, Detail, Entry, Key};
use crate::tape::{At, Effect, Inst, Step};
use tilescope_diagnostics::{Check, Finding, Value};
use tilescope_ir::{Function, OpCode, OpId};

/// Notes what the access before it stored, or looks whether it loaded what other lanes stored; operands are the
/// pointers and maybe the mask.
#[derive(Debug)]
struct Note {
    kind: AccessKind,
    elem: usize,
    shape: ShapeId,
}

impl Note {
    fn access(&self, inst: &Inst, machine: &Machine<'_>) -> Access {
        Access {
            kind: self.kind,
            pointers: inst.ins[0],
            mask: inst.ins.get(1).copied(),
            lanes: inst.lanes(machine),
            elem: self.elem,
        }
    }
}

impl Step for Note {
    fn reads_forms(&self) -> bool {
        true
    }

    fn effect(&self) -> Effect {
        Effect::None
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let access = self.access(inst, machine);
        let mut reread = std::mem::take(&mut machine.reread);
        let at = machine.at;
        // The first clash of each tensor, and how many lanes.
        let mut found: Vec<(Key, u64, Detail)> = Vec::new();
        // Faults are reported by the access itself.
        let _ = access.checked(machine, |memory, piece| {
            if !machine.context.tape.rereads.contains(piece.allocation) {
                return;
            }
            let (start, end) = (
                piece.offset as u64,
                (piece.offset + piece.count * self.elem) as u64,
            );
            let lanes = Lanes {
                origin: start,
                first: piece.lane as u32,
                elem: self.elem as u32,
                shape: self.shape,
            };
            let allocation = piece.allocation as u32;
            if self.kind == AccessKind::Store {
                reread.store(allocation, start, end, lanes, at);
                return;
            }
            reread.load(allocation, start, end, lanes, |clash| {
                let (lane, last) = (lanes.lane(clash.start), lanes.lane(clash.end - 1));
                let count = u64::from(last - lane) + 1;
                let key = Key {
                    check: Check::MissingBarrier,
                    at,
                    tensor: piece.tensor,
                };
                match found.iter_mut().find(|known| known.0 == key) {
                    Some(known) => known.1 += count,
                    None => {
                        let detail = Detail::Reread {
                            lane,
                            by: clash.by,
                            address: memory.spans[piece.allocation].0 + clash.start,
                            bytes: self.elem as u32,
                            stored: clash.at,
                        };
                        found.push((key, count, detail));
                    }
                }
            });
        });
        machine.reread = reread;
        for (key, count, detail) in found {
            machine.sink.report(key, count, || detail);
        }
        Ok(Flow::Next)
    }

    fn taint(&self, _: &Inst, _: &mut Machine<'_>) {}
}

/// A barrier among the lanes of a program.
#[derive(Debug)]
struct Forget;

impl Step for Forget {
    fn effect(&self) -> Effect {
        Effect::None
    }

    fn run(&self, _: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        machine.reread.clear();
        Ok(Flow::Next)
    }

    fn taint(&self, _: &Inst, _: &mut Machine<'_>) {}
}

/// Follows an operation that was just lowered, if it is an access to storage that is looked at, or a barrier.
pub fn operation(lower: &mut Lower<'_>, function: &Function, op: OpId) {
    if lower.rereads().is_empty() || lower.in_region() {
        return;
    }
    let data = &function.ops[op];
    let kind = match data.code {
        OpCode::Load | OpCode::DescriptorLoad | OpCode::DescriptorGather => AccessKind::Load,
        OpCode::Store | OpCode::DescriptorStore | OpCode::DescriptorScatter => AccessKind::Store,
        _ if is_barrier(function, op) => {
            lower.emit(Forget, vec![], vec![], 1);
            return;
        }
        _ => return,
    };
    let Some(&pointer) = data.operands.first() else {
        return;
    };
    let tile = match (kind, data.code) {
        (AccessKind::Load, _) => data.results.first(),
        (_, OpCode::DescriptorScatter) => data.operands.get(3),
        _ => data.operands.get(1),
    };
    let Some(&tile) = tile else { return };
    if !lower.is_reread(pointer) {
        return;
    }
    let shape = function
        .ty(tile)
        .shape()
        .map_or(Vec::new(), |shape| shape.dims().filter(|&n| n > 1).collect());
    let elem = lower.kind(function, tile);
    note(lower, kind, elem, &shape);
}

fn note(lower: &mut Lower<'_>, kind: AccessKind, elem: Kind, shape: &[usize]) {
    let Some(access) = lower.last() else { return };
    let lanes = access.lanes;
    let masked = access.ins.len() > if kind == AccessKind::Store { 2 } else { 1 };
    let ins: Vec<Slot> = access
        .ins
        .iter()
        .copied()
        .take(if masked { 2 } else { 1 })
        .collect();
    let step = Note {
        kind,
        elem: elem.bytes(),
        shape: lower.shape_id(shape),
    };
    lower.emit(step, ins, vec![], lanes);
}

/// The finding of a load that nothing orders behind the program's own store.
pub fn finding(
    reporter: &Reporter<'_>,
    key: &Key,
    entry: &Entry,
    lanes: (u32, u32),
    access: (u64, u32),
    stored: At,
) -> Finding {
    let (lane, by) = lanes;
    let (address, bytes) = access;
    let index = |at: At, lane: u32| {
        let index = reporter.lane_index(at, lane).unwrap_or_default();
        if index.is_empty() {
            String::from("the only lane")
        } else {
            format!("lane {index:?}")
        }
    };
    let name = reporter.tensor_name(key.tensor);
    let message = format!(
        "{} loads of {name} what {} of an earlier store of the same program wrote, with no barrier between: on a GPU these are different threads, and race",
        index(key.at, lane),
        index(stored, by)
    );
    let mut finding = reporter.start(key, entry, message);
    finding.lane = reporter.lane_index(key.at, lane);
    finding.other = reporter.location(stored);
    if let Some(target) = reporter.memory.target(key.tensor) {
        let offset = i128::from(address) - i128::from(target.base);
        finding.byte_offset = Some(offset);
        finding.element = target.view.element(offset);
    }
    finding.operands = vec![
        ("address".into(), Value::Int(i128::from(address))),
        ("bytes".into(), Value::Int(i128::from(bytes))),
    ];
    finding.help = Some(
        "put `tl.debug_barrier()` between the store and this load, or keep the values in registers: `tl.trans`, `tl.gather`, `tl.flip`"
            .into(),
    );
    finding
}
