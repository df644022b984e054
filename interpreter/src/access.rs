//! Memory accesses: every one is checked against the tensor that its pointer derives from.
//!
//! An access of a tile is split into runs: neighbouring active lanes at neighbouring addresses of one
//! tensor. A run is one exact bounds check and a copy. Where a run is at fault, its lanes are judged one by
//! one: a faulty load lane is 0, a faulty store lane is dropped, and both are reported.

use crate::frame::{Provenance, Slot, Tensor, Tile};
use crate::kind::{Bool, Lane};
use crate::machine::Machine;
use crate::shared::Shared;
use crate::sink::{AccessKind, Detail, Key};
use crate::view::View;
use std::sync::atomic::{AtomicBool, Ordering};
use tilescope_diagnostics::Check;
use tilescope_launch::{Launch, Role};

/// A tensor as accesses see it.
#[derive(Debug)]
pub struct Target {
    /// Index of its allocation.
    pub allocation: usize,
    /// Address of the allocation's first byte.
    pub base: u64,
    /// Bytes of the allocation.
    pub len: u64,
    /// Address of element (0, ..., 0).
    pub origin: u64,
    /// False for role `in`.
    pub writable: bool,
    /// True when every byte of the allocation belongs to the view.
    pub whole: bool,
    /// The view.
    pub view: View,
}

/// The tensors of a launch while it runs.
#[derive(Debug)]
pub struct Memory<'r> {
    /// The bytes.
    pub shared: Shared<'r>,
    /// The tensors; pointers carry an index plus one.
    pub targets: Vec<Target>,
    /// Per allocation: whether somebody asks what was written.
    watched: Vec<bool>,
    /// Base and length of each allocation.
    pub spans: Vec<(u64, u64)>,
    cancel: &'r AtomicBool,
}

/// Why a lane must not be accessed, or (for `Outside`) is doubtful.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Fine,
    /// In the storage, but not in the view.
    Outside,
    Fault(Check),
}

impl<'r> Memory<'r> {
    /// The memory of a launch; setting `cancel` makes all programs stop at their next jump back.
    pub fn new(
        launch: &Launch,
        memory: &'r mut tilescope_launch::Memory,
        watch: bool,
        cancel: &'r AtomicBool,
    ) -> Memory<'r> {
        let spans: Vec<(u64, u64)> = memory
            .allocations
            .iter()
            .map(|a| (a.base, a.bytes.len() as u64))
            .collect();
        let mut watched = vec![false; spans.len()];
        let targets = launch
            .tensors
            .iter()
            .map(|tensor| {
                let allocation = tensor.allocation.0 as usize;
                let (base, len) = spans[allocation];
                let view = View::new(tensor, tensor.dtype.bytes());
                watched[allocation] |= watch && tensor.role == Role::Out;
                Target {
                    allocation,
                    base,
                    len,
                    origin: base.wrapping_add_signed(tensor.offset.wrapping_mul(tensor.dtype.bytes() as i64)),
                    writable: tensor.role != Role::In,
                    whole: view.covers(len),
                    view,
                }
            })
            .collect();
        let shared = Shared::new(memory.allocations.iter_mut().map(|a| &mut a.bytes[..]));
        Memory {
            shared,
            targets,
            watched,
            spans,
            cancel,
        }
    }

    /// Per allocation: whether somebody asks what was written.
    pub fn watched(&self) -> impl Iterator<Item = bool> + '_ {
        self.watched.iter().copied()
    }

    /// True once the launch is to stop.
    pub fn interrupted(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// The tensor (plus one) that an address belongs to: a view that contains it, else the first
    /// tensor of the storage around it, else none.
    pub fn owner(&self, address: u64) -> Tensor {
        let inside = |t: &Target| address.wrapping_sub(t.base) < t.len;
        let in_view = |t: &Target| inside(t) && t.view.contains((address - t.base) as i64, 1);
        let found = self
            .targets
            .iter()
            .position(in_view)
            .or_else(|| self.targets.iter().position(inside));
        found.map_or(0, |i| i as Tensor + 1)
    }

    /// The target of a provenance.
    pub fn target(&self, tensor: Tensor) -> Option<&Target> {
        self.targets.get((tensor as usize).checked_sub(1)?)
    }

    /// True when all lanes of a run are beyond doubt.
    #[inline]
    fn is_clean(&self, target: &Target, kind: AccessKind, address: u64, bytes: u64, elem: u64) -> bool {
        let offset = address.wrapping_sub(target.base);
        offset <= target.len
            && bytes <= target.len - offset
            && address & (elem - 1) == 0
            && (kind == AccessKind::Load || target.writable)
            && (target.whole || target.view.contains(offset as i64, bytes as i64))
    }

    /// Judges one lane.
    fn judge(&self, tensor: Tensor, kind: AccessKind, address: u64, elem: u64) -> Verdict {
        let Some(target) = self.target(tensor).filter(|_| address != 0) else {
            return Verdict::Fault(Check::WildPointer);
        };
        let offset = address.wrapping_sub(target.base);
        if offset > target.len || elem > target.len - offset {
            return Verdict::Fault(match kind {
                AccessKind::Load => Check::OobLoad,
                AccessKind::Store => Check::OobStore,
                AccessKind::Atomic => Check::OobAtomic,
            });
        }
        if address & (elem - 1) != 0 {
            return Verdict::Fault(Check::Misaligned);
        }
        if kind != AccessKind::Load && !target.writable {
            return Verdict::Fault(Check::StoreToInput);
        }
        if !target.whole && !target.view.contains(offset as i64, elem as i64) {
            return if kind == AccessKind::Load {
                Verdict::Outside
            } else {
                Verdict::Fault(Check::OutsideView)
            };
        }
        Verdict::Fine
    }
}

/// A tile of pointers to access: pointer slot, maybe a mask, number of lanes.
#[derive(Debug, Clone, Copy)]
pub struct Access {
    /// Load, store or atomic.
    pub kind: AccessKind,
    /// Slot of the pointers.
    pub pointers: Slot,
    /// Slot of the mask.
    pub mask: Option<Slot>,
    /// Lanes.
    pub lanes: usize,
    /// Bytes of an element.
    pub elem: usize,
}

/// Neighbouring active lanes at neighbouring addresses of one tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// First lane.
    pub lane: usize,
    /// Number of lanes.
    pub count: usize,
    /// Address of the first lane.
    pub address: u64,
    /// Tensor of all lanes.
    pub tensor: Tensor,
}

/// A part of an allocation that an access may touch: lanes `lane..lane + count`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// First lane.
    pub lane: usize,
    /// Number of lanes.
    pub count: usize,
    /// Allocation.
    pub allocation: usize,
    /// Byte offset of the first lane.
    pub offset: usize,
}

impl Access {
    /// Splits the active lanes into runs, in rising order of lanes.
    pub fn runs(&self, machine: &Machine<'_>, mut each: impl FnMut(Run)) {
        let pointers = machine.frame.tile::<u64>(self.pointers, self.lanes);
        let provenance = machine.frame.provenance(self.pointers);
        let mask = match self.mask {
            Some(mask) => machine.frame.tile::<Bool>(mask, self.lanes),
            None => Tile::Uniform(Bool(1)),
        };
        let (pointers, tensor) = match (pointers, mask, provenance) {
            (_, Tile::Uniform(Bool(0)), _) => return,
            (Tile::Dense(pointers), _, Provenance::Uniform(tensor)) => (pointers, *tensor),
            _ => {
                // One address for all lanes, or lanes of several tensors: one run per lane.
                for lane in (0..self.lanes).filter(|&lane| mask.lane(lane).0 != 0) {
                    each(Run {
                        lane,
                        count: 1,
                        address: pointers.lane(lane),
                        tensor: provenance.lane(lane),
                    });
                }
                return;
            }
        };
        let elem = self.elem as u64;
        let mut lane = 0;
        while lane < self.lanes {
            if mask.lane(lane).0 == 0 {
                lane += 1;
                continue;
            }
            let first = lane;
            let mut next = pointers[first].wrapping_add(elem);
            lane += 1;
            match mask {
                Tile::Uniform(_) => {
                    while lane < self.lanes && pointers[lane] == next {
                        next = next.wrapping_add(elem);
                        lane += 1;
                    }
                }
                Tile::Dense(mask) => {
                    while lane < self.lanes && mask[lane].0 != 0 && pointers[lane] == next {
                        next = next.wrapping_add(elem);
                        lane += 1;
                    }
                }
            }
            each(Run {
                lane: first,
                count: lane - first,
                address: pointers[first],
                tensor,
            });
        }
    }

    /// Checks all active lanes, reports faults, and calls `each` with what may be touched, in rising
    /// order of lanes.
    pub fn pieces(&self, machine: &mut Machine<'_>, mut each: impl FnMut(&Memory<'_>, Piece)) {
        let context = machine.context;
        let memory = &context.memory;
        let mut faulty = Vec::new();
        let elem = self.elem as u64;
        self.runs(machine, |run| {
            let bytes = elem * run.count as u64;
            if let Some(target) = memory.target(run.tensor)
                && memory.is_clean(target, self.kind, run.address, bytes, elem)
            {
                let offset = (run.address - target.base) as usize;
                each(
                    memory,
                    Piece {
                        lane: run.lane,
                        count: run.count,
                        allocation: target.allocation,
                        offset,
                    },
                );
                return;
            }
            for i in 0..run.count {
                let address = run.address.wrapping_add(elem * i as u64);
                let verdict = memory.judge(run.tensor, self.kind, address, elem);
                let check = match verdict {
                    Verdict::Fine => None,
                    Verdict::Outside => Some(Check::OutsideView),
                    Verdict::Fault(check) => Some(check),
                };
                if let Some(check) = check {
                    faulty.push((check, run.tensor, run.lane + i, address));
                }
                if let (Verdict::Fine | Verdict::Outside, Some(target)) = (verdict, memory.target(run.tensor))
                {
                    let offset = (address - target.base) as usize;
                    let allocation = target.allocation;
                    each(
                        memory,
                        Piece {
                            lane: run.lane + i,
                            count: 1,
                            allocation,
                            offset,
                        },
                    );
                }
            }
        });
        for (check, tensor, lane, address) in faulty {
            let key = Key {
                check,
                at: machine.at,
                tensor,
            };
            machine.sink.report(key, 1, || Detail::Access {
                kind: self.kind,
                lane: lane as u32,
                address,
                bytes: self.elem as u32,
            });
        }
    }
}

/// Loads into `out`; masked-off lanes take `other`, or 0.
pub fn load<T: Lane>(machine: &mut Machine<'_>, access: Access, other: Option<Slot>, out: Slot) {
    let lanes = access.lanes;
    let form = (
        machine.frame.uniform(access.pointers),
        access.mask.map(|m| machine.frame.uniform(m)),
    );
    if let (Some(_), None | Some(Some(1))) = form {
        // One address, all lanes active: one element for all.
        let mut value = T::from_bits(0);
        let single = Access { lanes: 1, ..access };
        single.pieces(machine, |memory, piece| {
            memory
                .shared
                .read(piece.allocation, piece.offset, std::slice::from_mut(&mut value));
        });
        machine.frame.set_uniform(out, value.to_bits());
        return;
    }
    if let Some(Some(0)) = form.1 {
        match other {
            Some(other) => machine.frame.copy(other, out, lanes * size_of::<T>()),
            None => machine.frame.set_uniform(out, 0),
        }
        return;
    }
    let mut buffer = machine.frame.take::<T>(out, lanes);
    let result = buffer.lanes::<T>(lanes);
    match other.map(|other| machine.frame.tile::<T>(other, lanes)) {
        Some(Tile::Uniform(value)) => result.fill(value),
        Some(Tile::Dense(values)) => result.copy_from_slice(values),
        None => result.fill(T::from_bits(0)),
    }
    // A faulty lane is 0, whatever `other` says; faults are rare, so they are cleared beforehand only
    // where a lane is active.
    let mut done = 0usize;
    access.pieces(machine, |memory, piece| {
        done += piece.count;
        memory.shared.read(
            piece.allocation,
            piece.offset,
            &mut result[piece.lane..piece.lane + piece.count],
        );
    });
    if other.is_some() {
        clear_faulty(machine, access, done, result);
    }
    if lanes == 1 {
        let bits = result[0].to_bits();
        machine.frame.put(out, buffer);
        machine.frame.set_uniform(out, bits);
    } else {
        machine.frame.put(out, buffer);
    }
}

/// Sets active lanes that could not be read to 0.
fn clear_faulty<T: Lane>(machine: &Machine<'_>, access: Access, read: usize, result: &mut [T]) {
    let mut active = 0;
    access.runs(machine, |run| active += run.count);
    if active == read {
        return;
    }
    let memory = &machine.context.memory;
    access.runs(machine, |run| {
        for i in 0..run.count {
            let address = run.address.wrapping_add((access.elem * i) as u64);
            if let Verdict::Fault(_) = memory.judge(run.tensor, access.kind, address, access.elem as u64) {
                result[run.lane + i] = T::from_bits(0);
            }
        }
    });
}

/// Stores the lanes of `value`; where several lanes hit one address, the highest wins.
pub fn store<T: Lane>(machine: &mut Machine<'_>, access: Access, value: Slot) {
    let lanes = access.lanes;
    let mut written = std::mem::take(&mut machine.sink.written);
    // The frame is read while pieces are written, so the value's buffer is lent out for the time.
    let lent = match machine.frame.uniform(value) {
        Some(bits) => Err(T::from_bits(bits)),
        None => Ok(machine.frame.take::<T>(value, lanes)),
    };
    let mut row: Vec<T> = Vec::new();
    let mut lent = lent;
    access.pieces(machine, |memory, piece| {
        let source: &[T] = match &mut lent {
            Ok(buffer) => &buffer.lanes::<T>(lanes)[piece.lane..piece.lane + piece.count],
            Err(splat) => {
                if row.len() < piece.count {
                    row.resize(piece.count, *splat);
                }
                &row[..piece.count]
            }
        };
        memory.shared.write(piece.allocation, piece.offset, source);
        if let Some(log) = &mut written[piece.allocation] {
            log.add(piece.offset as u64, (piece.offset + size_of_val(source)) as u64);
        }
    });
    if let Ok(buffer) = lent {
        machine.frame.put(value, buffer);
    }
    machine.sink.written = written;
}
