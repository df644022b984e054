//! Memory accesses: every one is checked against the tensor that its pointer derives from.
//!
//! An access of a tile is split into runs: neighbouring active lanes at neighbouring addresses of one
//! tensor. A run is one exact bounds check and a copy. Where a run is at fault, its lanes are judged one by
//! one: a faulty load lane is 0, a faulty store lane is dropped, and both are reported.

mod carry;

pub use carry::{load, store};

use crate::forms::Sum;
use crate::frame::{Form, Provenance, Slot, Tensor, Tile};
use crate::initialised::{Initialised, Own};
use crate::kind::Bool;
use crate::machine::Machine;
use crate::ordered;
use crate::poison::Poison;
use crate::races::{Compare, Touch, Watch};
use crate::simd::FlatLoop;
use crate::sink::{AccessKind, Detail, Key};
use crate::stored::StoredPointers;
use crate::tape::{Order, Tape};
use crate::tensor_memory::Shared;
use crate::view::View;
use std::sync::atomic::{AtomicBool, Ordering};
use tilescope_diagnostics::{Check, CheckSet};
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
    /// What is known of pointers in memory.
    pub stored: StoredPointers,
    /// Per allocation: whether somebody asks what was written.
    watched: Vec<bool>,
    /// Base and length of each allocation.
    pub spans: Vec<(u64, u64)>,
    /// What holds something, of the storage that the kernel may read before it was written.
    pub initialised: Initialised,
    /// The checks that are on.
    pub checks: CheckSet,
    /// Stores of NaN and infinities are noted.
    pub specials: bool,
    /// Which accesses are noted, to find races.
    pub races: Watch,
    /// What lanes without a value hold.
    pub poison: Poison,
    /// Instead of storing, compares what is stored with what is there.
    pub compare: Option<Compare>,
    /// Per allocation, what earlier launches wrote.
    before: Vec<Vec<(u64, u64)>>,
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
        checks: CheckSet,
        cancel: &'r AtomicBool,
    ) -> Memory<'r> {
        let spans: Vec<(u64, u64)> = memory
            .allocations
            .iter()
            .map(|a| (a.base, a.bytes.len() as u64))
            .collect();
        let mut watched = vec![false; spans.len()];
        let targets: Vec<Target> = launch
            .tensors
            .iter()
            .map(|tensor| {
                let allocation = tensor.allocation.0 as usize;
                let (base, len) = spans[allocation];
                let view = View::new(tensor, tensor.dtype.bytes());
                watched[allocation] |= (checks.contains(Check::UnwrittenOutput) && tensor.role == Role::Out)
                    || (checks.any(&[Check::UnwrittenOutput, Check::UninitLoad]) && tensor.uninit);
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
        let before = memory.allocations.iter().map(|a| a.written.clone()).collect();
        let allocations = memory.allocations.iter_mut();
        let shared = Shared::new(allocations.map(|a| (&mut a.bytes[..], a.deferred.as_ref())));
        let stored = StoredPointers::new(launch, &targets);
        Memory {
            shared,
            targets,
            stored,
            watched,
            spans,
            initialised: Initialised::default(),
            checks,
            specials: false,
            races: Watch::default(),
            poison: Poison::Zero,
            compare: None,
            before,
            cancel,
        }
    }

    /// From now on reads of elements that nothing wrote are seen, of the storage that the kernel asks for.
    pub fn watch_reads(&mut self, launch: &Launch, tape: &Tape) {
        let parallel = matches!(tape.order, Order::Parallel | Order::Logged);
        self.initialised = Initialised::new(launch, &self.spans, &self.before, tape.unwritten, parallel);
    }

    /// Counts an element as written: it was reported.
    pub fn write_first(&self, own: &Own, tensor: Tensor, address: u64, bytes: u32) {
        if let Some(target) = self.target(tensor) {
            let offset = address.wrapping_sub(target.base) as usize;
            self.initialised
                .note(own, target.allocation, offset, offset + bytes as usize);
        }
    }

    /// Per allocation: whether somebody asks what was written.
    pub fn watched(&self) -> impl Iterator<Item = bool> + '_ {
        self.watched.iter().copied()
    }

    /// Asks what is written of all allocations that may be, also of those that hold something before the launch.
    pub fn watch_all(&mut self) {
        for target in &self.targets {
            self.watched[target.allocation] |= target.writable;
        }
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

    /// Another tensor whose view contains the address.
    pub fn victim(&self, tensor: Tensor, address: u64) -> Option<Tensor> {
        let owner = self.owner(address);
        let target = self.target(owner)?;
        let offset = i64::try_from(address.checked_sub(target.base)?).ok()?;
        (owner != tensor && target.view.contains(offset, 1)).then_some(owner)
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
            && (!kind.writes() || target.writable)
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
                AccessKind::Atomic | AccessKind::AtomicLoad => Check::OobAtomic,
            });
        }
        if address & (elem - 1) != 0 {
            return Verdict::Fault(Check::Misaligned);
        }
        if kind.writes() && !target.writable {
            return Verdict::Fault(Check::StoreToInput);
        }
        if !target.whole && !target.view.contains(offset as i64, elem as i64) {
            return if kind.writes() {
                Verdict::Fault(Check::OutsideView)
            } else {
                Verdict::Outside
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
    /// Tensor, plus one.
    pub tensor: Tensor,
    /// Byte offset of the first lane.
    pub offset: usize,
}

/// Addresses by formula, cut where their innermost dimension ends.
struct Stretches<'a> {
    sum: Sum,
    vector: &'a [i64],
    /// Lanes at neighbouring addresses.
    len: usize,
    tensor: Tensor,
}

impl<'a> Stretches<'a> {
    fn new(access: &Access, sum: Sum, vector: &'a [i64], tensor: Tensor) -> Stretches<'a> {
        let (len, stride) = sum.innermost();
        let len = if stride == access.elem as i64 { len } else { 1 };
        Stretches {
            sum,
            vector,
            len,
            tensor,
        }
    }

    fn split(&self, start: usize, end: usize, each: &mut impl FnMut(Run)) {
        let mut lane = start;
        while lane < end {
            let stop = end.min((lane / self.len + 1) * self.len);
            let address = self.sum.at(lane, self.vector) as u64;
            each(Run {
                lane,
                count: stop - lane,
                address,
                tensor: self.tensor,
            });
            lane = stop;
        }
    }
}

/// How far the furthest of some pointers is from a base, and the bits that are in any.
struct Reach<'a> {
    pointers: &'a [u64],
    base: u64,
}

impl FlatLoop for Reach<'_> {
    type Output = (u64, u64);

    #[inline(always)]
    fn run(self) -> (u64, u64) {
        self.pointers.iter().fold((0, 0), |(furthest, bits), &pointer| {
            (pointer.wrapping_sub(self.base).max(furthest), bits | pointer)
        })
    }
}

/// A lane that breaks a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    check: Check,
    tensor: Tensor,
    /// The lane.
    pub lane: usize,
    address: u64,
}

impl Access {
    /// Splits the active lanes into runs, in rising order of lanes.
    pub fn runs(&self, machine: &Machine<'_>, mut each: impl FnMut(Run)) {
        let frame = &machine.frame;
        let provenance = frame.provenance(self.pointers);
        let mask = self.mask.map_or(Form::Uniform(1), |mask| frame.form(mask));
        match (frame.form(self.pointers), mask, provenance) {
            (_, Form::Uniform(0), _) => {}
            (Form::Sum(sum, _), _, Provenance::Uniform(tensor)) => {
                let stretches = Stretches::new(self, sum, frame.vector(self.pointers), *tensor);
                self.intervals(machine, mask, |start, end| stretches.split(start, end, &mut each));
            }
            (Form::Dense, _, Provenance::Uniform(tensor)) => {
                let Tile::Dense(pointers) = frame.tile::<u64>(self.pointers, self.lanes) else {
                    return;
                };
                let elem = self.elem as u64;
                self.intervals(machine, mask, |start, end| {
                    let mut lane = start;
                    while lane < end {
                        let first = lane;
                        let mut next = pointers[first].wrapping_add(elem);
                        lane += 1;
                        while lane < end && pointers[lane] == next {
                            next = next.wrapping_add(elem);
                            lane += 1;
                        }
                        each(Run {
                            lane: first,
                            count: lane - first,
                            address: pointers[first],
                            tensor: *tensor,
                        });
                    }
                });
            }
            (form, _, _) => {
                // One address for all lanes, or lanes of several tensors: one run per lane.
                let address = |lane| match form {
                    Form::Sum(sum, _) => sum.at(lane, frame.vector(self.pointers)) as u64,
                    _ => frame.tile::<u64>(self.pointers, self.lanes).lane(lane),
                };
                self.intervals(machine, mask, |start, end| {
                    for lane in start..end {
                        each(Run {
                            lane,
                            count: 1,
                            address: address(lane),
                            tensor: provenance.lane(lane),
                        });
                    }
                });
            }
        }
    }

    /// The addresses of lanes that are all active, if they are scattered over one tensor and all beyond doubt.
    #[inline]
    pub fn scattered<'m>(&self, machine: &'m Machine<'_>) -> Option<(&'m Target, &'m [u64])> {
        let frame = &machine.frame;
        let Provenance::Uniform(tensor) = frame.provenance(self.pointers) else {
            return None;
        };
        let target = machine.context.memory.target(*tensor)?;
        let all = self.mask.is_none_or(|mask| frame.uniform(mask) == Some(1));
        if !all || frame.form(self.pointers) != Form::Dense {
            return None;
        }
        let Tile::Dense(pointers) = frame.tile::<u64>(self.pointers, self.lanes) else {
            return None;
        };
        let elem = self.elem as u64;
        let (&first, &second) = (pointers.first()?, pointers.get(1)?);
        // Neighbours go as runs.
        let apart = second != first.wrapping_add(elem);
        let room = target.len.checked_sub(elem)?;
        if !apart || !target.whole || (self.kind.writes() && !target.writable) {
            return None;
        }
        let (furthest, low) = machine.context.cpu.run(Reach {
            pointers,
            base: target.base,
        });
        (furthest <= room && low & (elem - 1) == 0).then_some((target, pointers))
    }

    /// The target, formula and vector of addresses of lanes that are all active and beyond doubt, where
    /// neighbouring lanes are not neighbours in memory: columns of a matrix, say.
    #[inline]
    pub fn strided<'m>(&self, machine: &'m Machine<'_>) -> Option<(&'m Target, Sum, &'m [i64])> {
        let frame = &machine.frame;
        let Form::Sum(sum, _) = frame.form(self.pointers) else {
            return None;
        };
        let Provenance::Uniform(tensor) = frame.provenance(self.pointers) else {
            return None;
        };
        let target = machine.context.memory.target(*tensor)?;
        let all = self.mask.is_none_or(|mask| frame.uniform(mask) == Some(1));
        let elem = self.elem as i64;
        // Neighbours go as runs.
        if !all || !target.whole || (self.kind.writes() && !target.writable) || sum.innermost().1 == elem {
            return None;
        }
        let (low, high) = sum.bounds()?;
        let first = u64::try_from(low).ok()?.checked_sub(target.base)?;
        let last = u64::try_from(high).ok()?.checked_sub(target.base)?;
        let vector = frame.vector(self.pointers);
        let steps = sum.dims().iter().filter(|d| !d.vector).map(|d| d.stride);
        let low_bits = steps.chain(vector.iter().copied()).fold(sum.base, |a, b| a | b);
        let inside = first <= last && last <= target.len.checked_sub(elem as u64)?;
        (inside && low_bits & (elem - 1) == 0).then_some((target, sum, vector))
    }

    /// The active lanes as intervals, rising.
    fn intervals(&self, machine: &Machine<'_>, mask: Form, mut each: impl FnMut(usize, usize)) {
        let slot = self.mask.unwrap_or(self.pointers);
        match mask {
            Form::Uniform(0) => {}
            Form::Uniform(_) | Form::Sum(..) => each(0, self.lanes),
            Form::Box(mask) if mask.rows == 1 => each(mask.lo as usize, mask.hi as usize),
            Form::Box(mask) => {
                for row in mask.first..mask.last {
                    let start = row as usize * mask.len as usize;
                    each(start + mask.lo as usize, start + mask.hi as usize);
                }
            }
            Form::Ragged { .. } => {
                let (len, intervals) = machine.frame.intervals(slot);
                for (row, &[lo, hi]) in intervals.iter().enumerate().filter(|(_, i)| i[0] < i[1]) {
                    let start = row * len as usize;
                    each(start + lo as usize, start + hi as usize);
                }
            }
            Form::Dense => {
                let Tile::Dense(mask) = machine.frame.tile::<Bool>(slot, self.lanes) else {
                    return;
                };
                let mut lane = 0;
                while lane < self.lanes {
                    let start = lane;
                    while lane < self.lanes && mask[lane].0 != 0 {
                        lane += 1;
                    }
                    if lane > start {
                        each(start, lane);
                    }
                    lane += 1;
                }
            }
        }
    }

    /// Checks all active lanes, reports faults, and calls `each` with what may be touched, in rising
    /// order of lanes. Says whether a lane was doubtful or faulty.
    pub fn pieces(&self, machine: &mut Machine<'_>, each: impl FnMut(&Memory<'_>, Piece)) -> bool {
        let faults = self.checked(machine, each);
        let any = !faults.is_empty();
        self.report(machine, faults);
        any
    }

    /// As [`pieces`](Access::pieces), but gives the faults back, for those who read the machine's values
    /// meanwhile; they go to [`report`](Access::report).
    #[must_use]
    pub fn checked(&self, machine: &Machine<'_>, mut each: impl FnMut(&Memory<'_>, Piece)) -> Vec<Fault> {
        let memory = &machine.context.memory;
        let mut faults = Vec::new();
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
                        tensor: run.tensor,
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
                    faults.push(Fault {
                        check,
                        tensor: run.tensor,
                        lane: run.lane + i,
                        address,
                    });
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
                            tensor: run.tensor,
                            offset,
                        },
                    );
                }
            }
        });
        faults
    }

    /// Reports faults at the current instruction.
    ///
    /// An address made from an undefined lane is reported as a use of that lane, not as a fault of the access.
    pub fn report(&self, machine: &mut Machine<'_>, faults: Vec<Fault>) {
        let births = (!faults.is_empty())
            .then(|| machine.taint.get(self.pointers).cloned())
            .flatten();
        let undefined = |lane| births.as_ref().is_some_and(|births| births.lane(lane) != 0);
        for fault in faults {
            // What wrapped around was reported as that.
            if undefined(fault.lane) || machine.exact.lane(self.pointers, fault.lane) != 0 {
                continue;
            }
            let key = Key {
                check: fault.check,
                at: machine.at,
                tensor: fault.tensor,
            };
            machine.sink.report(key, 1, || Detail::Access {
                kind: self.kind,
                lane: fault.lane as u32,
                address: fault.address,
                bytes: self.elem as u32,
            });
            if fault.check == Check::OutsideView && !machine.sink.is_severe(key) {
                let memory = &machine.context.memory;
                if self.kind != AccessKind::Load || memory.victim(fault.tensor, fault.address).is_some() {
                    machine.sink.worsen(key);
                }
            }
        }
    }
}

/// Active lanes whose element nothing wrote: lane, tensor and address.
pub fn unwritten(machine: &Machine<'_>, access: Access) -> Vec<(u32, Tensor, u64)> {
    let mut found = Vec::new();
    let provenance = machine.frame.provenance(access.pointers);
    // Faults are reported by the access itself.
    let _ = access.checked(machine, |memory, piece| {
        let end = piece.offset + piece.count * access.elem;
        if memory
            .initialised
            .is_written(&machine.own, piece.allocation, piece.offset, end)
        {
            return;
        }
        for i in 0..piece.count {
            let (lane, start) = (piece.lane + i, piece.offset + i * access.elem);
            if !memory
                .initialised
                .is_written(&machine.own, piece.allocation, start, start + access.elem)
            {
                let address = memory.spans[piece.allocation].0.wrapping_add(start as u64);
                found.push((lane as u32, provenance.lane(lane), address));
            }
        }
    });
    found
}

/// Notes what an access touches, to find races.
#[inline]
pub fn note_touch(machine: &mut Machine<'_>, access: Access, touch: Touch) {
    let watched = machine.context.memory.races.watched;
    if watched.is_empty() {
        return;
    }
    if let Provenance::Uniform(tensor) = machine.frame.provenance(access.pointers) {
        let target = machine.context.memory.target(*tensor);
        if target.is_none_or(|target| !watched.contains(target.allocation)) {
            return;
        }
    }
    if machine.ordered.is_some() {
        ordered::note(machine, access, touch);
        return;
    }
    let mut noted = std::mem::take(&mut machine.sink.noted);
    let (at, linear) = (machine.at, machine.linear);
    // Faults are reported by the access itself.
    let _ = access.checked(machine, |memory, piece| {
        memory
            .races
            .note(memory, &mut noted, access.elem, piece, at, touch, linear);
    });
    machine.sink.noted = noted;
}
