//! Pointers, loads and stores; block pointers and tensor descriptors are in [`block`].

pub mod block;
pub mod placed;
pub mod row;
pub mod wide;

use crate::access::{self, Access};
use crate::exact;
use crate::frame::{Form, Slot, Tile};
use crate::hunt;
use crate::kind::{Bool, Kind, Lane};
use crate::lower::Lower;
use crate::machine::{Flow, Machine, Stop};
use crate::optimise::formula::Rule;
use crate::optimise::place::Plain;
use crate::poison::{self, Poison};
use crate::races::Touch;
use crate::sink::AccessKind;
use crate::steps::symbolic;
use crate::stored;
use crate::taint::{self, BirthDetail, Use};
use crate::tape::{Effect, Inst, Order, Step};
use crate::with_width;
use tilescope_diagnostics::{Check, Result};
use tilescope_ir::{Attrs, Elem, Function, OpId, Type};

/// `tt.addptr`: address plus offset times the size of the pointee.
#[derive(Debug)]
struct AddPtr {
    offset: Kind,
    bytes: u64,
}

impl AddPtr {
    fn add<T: Lane>(&self, inst: &Inst, machine: &mut Machine<'_>, lanes: usize, signed: impl Fn(T) -> i64) {
        let bytes = self.bytes;
        crate::lanes::map2(
            machine.context.cpu,
            &mut machine.frame,
            [inst.ins[0], inst.ins[1]],
            inst.outs[0],
            lanes,
            |p: u64, o: T| p.wrapping_add((signed(o) as u64).wrapping_mul(bytes)),
        );
    }
}

impl Step for AddPtr {
    fn rule(&self) -> Option<Rule<'_>> {
        (self.offset != Kind::Bool).then_some(Rule::AddPtr(self.bytes))
    }

    fn is_pure(&self, _: &[Option<u64>]) -> bool {
        true
    }

    fn may_give_forms(&self) -> bool {
        true
    }

    fn reads_forms(&self) -> bool {
        true
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        if self.offset != Kind::Bool && symbolic::add_ptr(self.offset, self.bytes, inst, machine) {
            let provenance = machine.frame.provenance(inst.ins[0]).clone();
            machine.frame.set_provenance(inst.outs[0], provenance);
            return Ok(Flow::Next);
        }
        symbolic::flatten(inst, machine);
        let lanes = inst.lanes(machine);
        match self.offset {
            Kind::I8 => self.add::<u8>(inst, machine, lanes, |o| i64::from(o as i8)),
            Kind::I16 => self.add::<u16>(inst, machine, lanes, |o| i64::from(o as i16)),
            Kind::I32 => self.add::<u32>(inst, machine, lanes, |o| i64::from(o as i32)),
            Kind::Bool => self.add::<Bool>(inst, machine, lanes, |o| -i64::from(o.0)),
            _ => self.add::<u64>(inst, machine, lanes, |o| o as i64),
        }
        let provenance = machine.frame.provenance(inst.ins[0]).clone();
        machine.frame.set_provenance(inst.outs[0], provenance);
        Ok(Flow::Next)
    }

    fn exact(&self, inst: &Inst, machine: &mut Machine<'_>) {
        exact::add_ptr(self.bytes, inst, machine);
    }
}

/// `tt.addptr`.
pub fn add_ptr(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let pointee = function
        .ty(data.operands[0])
        .elem()
        .and_then(Elem::pointer)
        .map(|p| p.target());
    let Some(pointee) = pointee else {
        return Err(lower.unsupported(function, op, "addptr of something that is no pointer"));
    };
    let step = AddPtr {
        offset: lower.kind(function, data.operands[1]),
        bytes: pointee.bytes() as u64,
    };
    let ins = lower.operands(data);
    let out = lower.result(function, op)?;
    let lanes = lower.lanes(function, data.results[0]);
    lower.emit(step, ins, vec![out], lanes);
    Ok(())
}

/// `tt.load` through pointers: operands are the pointers, maybe a mask, maybe the other value.
#[derive(Debug)]
pub struct Load {
    /// Kind of the elements.
    pub kind: Kind,
    /// Others may write meanwhile: the program gives way at the next jump back.
    pub volatile: bool,
    /// Masked-off lanes have a value, or never matter ([`crate::analysis::quiet`]).
    pub quiet: bool,
}

impl Load {
    fn accessed(&self, inst: &Inst, machine: &Machine<'_>) -> Access {
        Access {
            kind: AccessKind::Load,
            pointers: inst.ins[0],
            mask: inst.ins.get(1).copied(),
            lanes: inst.lanes(machine),
            elem: self.kind.bytes(),
        }
    }

    /// Follows undefined lanes from now on, if this load gives some.
    #[inline]
    fn watch(&self, inst: &Inst, machine: &mut Machine<'_>, access: Access) {
        let masked_off = !self.quiet
            && access
                .mask
                .is_some_and(|mask| machine.frame.uniform(mask) != Some(1) && !all_active(inst, machine));
        let unwritten =
            machine.context.memory.initialised.is_any() && !access::unwritten(machine, access).is_empty();
        if masked_off || unwritten {
            machine.taint.activate();
        }
    }
}

/// True if no lane of a load is masked off.
fn all_active(inst: &Inst, machine: &Machine<'_>) -> bool {
    match machine.frame.form(inst.ins[1]) {
        Form::Uniform(bits) => bits != 0,
        Form::Box(mask) => (mask.first, mask.last, mask.lo, mask.hi) == (0, mask.rows, 0, mask.len),
        Form::Ragged { len, .. } => {
            let (_, intervals) = machine.frame.intervals(inst.ins[1]);
            intervals.iter().all(|&[lo, hi]| lo == 0 && hi == len)
        }
        _ => {
            let lanes = inst.lanes(machine);
            match machine.frame.tile::<Bool>(inst.ins[1], lanes) {
                Tile::Uniform(bit) => bit.0 != 0,
                Tile::Dense(bits) => bits.iter().all(|bit| bit.0 != 0),
            }
        }
    }
}

impl Step for Load {
    fn access(&self) -> Option<Plain> {
        (!self.volatile).then_some(Plain::Load(self.kind, self.quiet))
    }

    fn effect(&self) -> Effect {
        if self.volatile {
            Effect::Writes
        } else {
            Effect::Reads
        }
    }

    fn reads_forms(&self) -> bool {
        true
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        if let Some(&other) = inst.ins.get(2) {
            machine.frame.flatten(other);
        }
        if self.volatile {
            machine.sync();
        }
        let access = self.accessed(inst, machine);
        self.watch(inst, machine, access);
        // A volatile load counts as a relaxed atomic.
        let touch = if self.volatile { Touch::Atomic } else { Touch::Read };
        access::note_touch(machine, access, touch);
        exact::look(machine, access);
        let (other, out) = (inst.ins.get(2).copied(), inst.outs[0]);
        with_width!(self.kind, T => access::load::<T>(machine, access, other, out));
        if machine.context.memory.poison != Poison::Zero {
            poison::fill(machine, access, other.is_some(), self.kind, out);
        }
        match self.kind {
            Kind::Bool => {
                let lanes = inst.lanes(machine);
                // Memory may hold any byte; a truth value is 0 or 1.
                if let Some(bits) = machine.frame.uniform(out) {
                    machine.frame.set_uniform(out, u64::from(bits != 0));
                } else {
                    let mut buffer = machine.frame.take::<u8>(out, lanes);
                    buffer
                        .lanes::<u8>(lanes)
                        .iter_mut()
                        .for_each(|b| *b = u8::from(*b != 0));
                    machine.frame.put(out, buffer);
                }
            }
            Kind::Ptr => {
                let provenance = stored::loaded(machine, access, other, out);
                machine.frame.set_provenance(out, provenance);
            }
            _ => {}
        }
        Ok(Flow::Next)
    }

    /// Addresses of active lanes and the mask are uses; masked-off lanes take what `other` has.
    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        let lanes = inst.lanes(machine);
        use_access(inst, machine, lanes);
        let other = match (inst.ins.get(1), inst.ins.get(2)) {
            (Some(&mask), Some(&other)) => machine.taint.get(other).map(|births| {
                let mask = machine.frame.tile::<Bool>(mask, lanes);
                let lane = |i| if mask.lane(i).0 == 0 { births.lane(i) } else { 0 };
                taint::Births::Dense((0..lanes).map(lane).collect())
            }),
            _ => None,
        };
        machine.taint.set(inst.outs[0], other);
        let access = self.accessed(inst, machine);
        if let (Some(&mask), None, false) = (inst.ins.get(1), inst.ins.get(2), self.quiet) {
            let tile = machine.frame.tile::<Bool>(mask, lanes);
            let off: Vec<u32> = (0..lanes)
                .filter(|&i| tile.lane(i).0 == 0)
                .map(|i| i as u32)
                .collect();
            if !off.is_empty() {
                let tensor = machine.frame.provenance(inst.ins[0]).lane(off[0] as usize);
                let born = off.into_iter().map(|lane| (lane, BirthDetail::Masked(tensor)));
                taint::bear_lanes(machine, inst.outs[0], lanes, Check::UndefinedLane, born);
            }
        }
        if machine.context.memory.initialised.is_any() {
            let bytes = access.elem as u32;
            let born: Vec<(u32, BirthDetail)> = access::unwritten(machine, access)
                .into_iter()
                .map(|(lane, tensor, address)| (lane, BirthDetail::Unwritten(tensor, address, bytes)))
                .collect();
            if !born.is_empty() {
                taint::bear_lanes(machine, inst.outs[0], lanes, Check::UninitLoad, born);
            }
        }
    }
}

/// Uses of an access: the mask, and the addresses of active lanes.
fn use_access(inst: &Inst, machine: &mut Machine<'_>, lanes: usize) {
    let mask = inst.ins.get(1).copied();
    if let Some(mask) = mask {
        taint::use_lanes(machine, mask, lanes, Use::Mask, |_, _| true);
    }
    taint::use_lanes(machine, inst.ins[0], lanes, Use::Address, |m, lane| {
        is_active(m, mask, lanes, lane)
    });
}

/// True if a lane is not masked off.
pub fn is_active(machine: &Machine<'_>, mask: Option<Slot>, lanes: usize, lane: usize) -> bool {
    mask.is_none_or(|mask| machine.frame.tile::<Bool>(mask, lanes).lane(lane).0 != 0)
}

/// `tt.store` through pointers: operands are the pointers, the mask if `masked`, the value.
#[derive(Debug)]
pub struct Store {
    /// Kind of the elements.
    pub kind: Kind,
    /// There is a mask.
    pub masked: bool,
}

impl Store {
    fn accessed(&self, inst: &Inst, machine: &Machine<'_>) -> Access {
        Access {
            kind: AccessKind::Store,
            pointers: inst.ins[0],
            mask: self.masked.then(|| inst.ins[1]),
            lanes: inst.lanes(machine),
            elem: self.kind.bytes(),
        }
    }
}

impl Step for Store {
    fn access(&self) -> Option<Plain> {
        Some(Plain::Store(self.kind, self.masked))
    }

    fn reads_forms(&self) -> bool {
        true
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        machine.frame.flatten(inst.ins[inst.ins.len() - 1]);
        let access = self.accessed(inst, machine);
        exact::look(machine, access);
        let value = inst.ins[inst.ins.len() - 1];
        hunt::suspect(machine, access, value, self.kind);
        with_width!(self.kind, T => access::store::<T>(machine, access, value));
        if self.kind == Kind::Ptr {
            stored::note(machine, access, value);
        }
        Ok(Flow::Next)
    }

    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        let lanes = inst.lanes(machine);
        let mask = self.masked.then(|| inst.ins[1]);
        if let Some(mask) = mask {
            taint::use_lanes(machine, mask, lanes, Use::Mask, |_, _| true);
        }
        taint::use_lanes(machine, inst.ins[0], lanes, Use::Address, |m, lane| {
            is_active(m, mask, lanes, lane)
        });
        let value = inst.ins[inst.ins.len() - 1];
        if machine.taint.get(value).is_none() {
            return;
        }
        // A faulty lane is dropped, and was reported.
        let faults = self.accessed(inst, machine).checked(machine, |_, _| {});
        taint::use_lanes(machine, value, lanes, Use::Stored, |m, lane| {
            let is_faulty = || faults.binary_search_by_key(&lane, |fault| fault.lane).is_ok();
            is_active(m, mask, lanes, lane)
                && !is_faulty()
                && hunt::is_still(m, value, self.kind, lanes, lane)
        });
    }
}

fn is_volatile(attrs: &Attrs) -> bool {
    matches!(attrs, Attrs::Access(access) if access.volatile)
}

/// `tt.load`.
pub fn load(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    if let Type::BlockPtr(..) = function.ty(data.operands[0]) {
        return block::load(lower, function, op);
    }
    let volatile = is_volatile(&data.attrs);
    if volatile {
        lower.need(Order::Cooperative);
    }
    let kind = lower.kind(function, data.results[0]);
    let ins = lower.operands(data);
    let out = lower.result(function, op)?;
    let lanes = lower.lanes(function, data.results[0]);
    let quiet = ins.len() != 2 || lower.is_quiet(function, op);
    let step = Load {
        kind,
        volatile,
        quiet,
    };
    lower.emit(step, ins, vec![out], lanes);
    Ok(())
}

/// `tt.store`.
pub fn store(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    if let Type::BlockPtr(..) = function.ty(data.operands[0]) {
        return block::store(lower, function, op);
    }
    let kind = lower.kind(function, data.operands[1]);
    let mut ins = lower.operands(data);
    let lanes = lower.lanes(function, data.operands[1]);
    let masked = ins.len() > 2;
    if masked {
        ins.swap(1, 2);
    }
    lower.emit(Store { kind, masked }, ins, vec![], lanes);
    Ok(())
}
