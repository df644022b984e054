//! Atomics.
//!
//! The lanes of a tile act one after the other in row-major order, each in one step, so several lanes on
//! one address all take effect and each is given what the one before it left. A masked-off or faulty lane
//! does nothing and gives 0. Programs' atomics interleave as [`order`] says; where that is not in parallel,
//! one worker runs all programs and a plain read and write is one step. Memory orders and scopes are
//! without effect on values, which are sequentially consistent; what they order decides what is a race
//! ([`crate::ordered`]).
//!
//! Numbers are those of the element-wise operations: a float addition rounds once in its own type, keeps
//! subnormals (the card's f32 addition in global memory flushes them) and gives the canonical NaN. Float
//! maxima and minima come as integer ones on the bits, made by Triton; that a NaN counts as above
//! infinity there is their doing.

pub mod logged;
pub mod order;
mod poll;

use self::poll::{BeginPoll, Poll};
use crate::access::{self, Access, Piece};
use crate::exact;
use crate::frame::{Provenance, Slot, Tensor, Tile};
use crate::hunt;
use crate::kind::{Kind, Lane};
use crate::lanes::Signless;
use crate::lower::Lower;
use crate::machine::{Flow, Machine, Stop};
use crate::num::float::{Bf16, F16};
use crate::num::math::Arithmetic;
use crate::ordered::{self, Orders};
use crate::sink::{AccessKind, Detail, Key};
use crate::steps::memory::is_active;
use crate::taint::{self, Use};
use crate::tape::{At, Inst, Order, Step};
use crate::with_width;
use crate::written::Written;
use tilescope_diagnostics::{Check, Result};
use tilescope_ir::attrs::{ReduceKind, RmwKind};
use tilescope_ir::{Attrs, Elem, Function, OpId};

/// Applies an update to memory: where, the operand, and where the old values go.
pub type Update = fn(&mut Machine<'_>, Access, Slot, Option<Slot>);

/// Replaces each active lane's element by `new(element, operands)`; the old elements go to `out`.
#[inline(always)]
fn replace<T: Lane, const N: usize>(
    machine: &mut Machine<'_>,
    access: Access,
    operands: [Slot; N],
    out: Option<Slot>,
    new: impl Fn(T, [T; N]) -> T + Copy,
) {
    let lanes = access.lanes;
    let parallel = machine.context.tape.order == Order::Parallel;
    let mut written = std::mem::take(&mut machine.sink.written);
    let mut kept = out.map(|slot| (slot, machine.frame.take::<T>(slot, lanes)));
    let mut old_lanes = kept.as_mut().map(|(_, buffer)| buffer.lanes::<T>(lanes));
    if let Some(old_lanes) = &mut old_lanes {
        old_lanes.fill(T::from_bits(0));
    }
    let tiles = operands.map(|slot| machine.frame.tile::<T>(slot, lanes));
    let mut changed = false;
    let faults = access.checked(machine, |memory, piece| {
        for i in 0..piece.count {
            let lane = piece.lane + i;
            let offset = piece.offset + i * size_of::<T>();
            let operands = std::array::from_fn(|k| tiles[k].lane(lane));
            let old = if parallel {
                let new = |old| new(T::from_bits(old), operands).to_bits();
                T::from_bits(
                    memory
                        .shared
                        .update(piece.allocation, offset, size_of::<T>(), new),
                )
            } else {
                let mut element = [T::from_bits(0)];
                memory.shared.read(piece.allocation, offset, &mut element);
                let replaced = new(element[0], operands);
                memory.shared.write(piece.allocation, offset, &[replaced]);
                changed |= replaced.to_bits() != element[0].to_bits();
                element[0]
            };
            if let Some(old_lanes) = &mut old_lanes {
                old_lanes[lane] = old;
            }
        }
        log(&mut written, piece, size_of::<T>());
        let end = piece.offset + piece.count * size_of::<T>();
        memory
            .initialised
            .note(&machine.own, piece.allocation, piece.offset, end);
    });
    machine.sink.written = written;
    machine.wrote |= changed;
    if let Some((slot, mut buffer)) = kept {
        let first = buffer.lanes::<T>(lanes)[0].to_bits();
        machine.frame.put(slot, buffer);
        if lanes == 1 {
            machine.frame.set_uniform(slot, first);
        }
    }
    access.report(machine, faults);
}

/// Most elements of a tensor whose updates are gathered.
const MAX_GATHERED: usize = 1 << 14;

/// Updates of one small tensor (the bins of a histogram) by one instruction, gathered by a worker before
/// memory is touched: workers would wait for each other at every lane otherwise.
///
/// Nobody sees that they are late: old values are not used, programs run in any order, and what the own
/// program loads or stores there comes after [`flush`].
#[derive(Debug, Default)]
pub struct Gathered {
    /// The instruction and the allocation; none while nothing is gathered.
    of: Option<(At, usize)>,
    /// Per element, as wide as it, the operand that stands for all so far: to begin with, the one that changes nothing.
    operands: Vec<u64>,
    /// Per element, whether there was one.
    touched: Vec<bool>,
    /// Applies all: allocation, operands.
    apply: Option<fn(&access::Memory<'_>, usize, &[u64])>,
    /// Bytes of an element.
    bytes: usize,
}

impl Gathered {
    /// Begins to gather; what was gathered before must be flushed.
    fn begin<T: Lane, M: Merging<T>>(&mut self, at: At, allocation: usize, elements: usize) {
        self.of = Some((at, allocation));
        self.operands.clear();
        self.operands
            .resize((elements * size_of::<T>()).div_ceil(size_of::<u64>()), 0);
        bytemuck::cast_slice_mut(&mut self.operands).fill(M::NEUTRAL.of::<T>());
        self.touched.clear();
        self.touched.resize(elements, false);
        self.bytes = size_of::<T>();
        self.apply = Some(|memory, allocation, operands| {
            let operands: &[T] = bytemuck::cast_slice(operands);
            for (element, &operand) in operands.iter().enumerate() {
                if operand != M::NEUTRAL.of::<T>() {
                    let new = |old| M::merged(T::from_bits(old), operand).to_bits();
                    let (offset, size) = (element * size_of::<T>(), size_of::<T>());
                    memory.shared.update(allocation, offset, size, new);
                }
            }
        });
    }

    /// True if something is gathered for an allocation.
    pub fn is_for(&self, allocation: usize) -> bool {
        self.of.is_some_and(|(_, own)| own == allocation)
    }
}

/// Applies what was gathered.
pub fn flush(machine: &mut Machine<'_>) {
    let (Some((_, allocation)), Some(apply)) = (machine.gathered.of.take(), machine.gathered.apply) else {
        return;
    };
    let (gathered, size) = (&machine.gathered, machine.gathered.bytes);
    apply(&machine.context.memory, allocation, &gathered.operands);
    if let Some(Some(log)) = machine.sink.written.get_mut(allocation) {
        for (element, _) in gathered
            .touched
            .iter()
            .enumerate()
            .filter(|(_, touched)| **touched)
        {
            log.add((element * size) as u64, ((element + 1) * size) as u64);
        }
    }
}

/// Before an access of memory by other means: applies what was gathered for it.
#[inline]
pub fn flush_before(machine: &mut Machine<'_>, access: Access) {
    let Some((_, allocation)) = machine.gathered.of else {
        return;
    };
    let target = match machine.frame.provenance(access.pointers) {
        Provenance::Uniform(tensor) => machine.context.memory.target(*tensor),
        Provenance::Dense(_) => None,
    };
    if target.is_none_or(|target| target.allocation == allocation) {
        flush(machine);
    }
}

/// The same before an access of one tensor.
#[inline]
pub fn flush_before_tensor(machine: &mut Machine<'_>, tensor: Tensor) {
    let Some((_, allocation)) = machine.gathered.of else {
        return;
    };
    let target = machine.context.memory.target(tensor);
    if target.is_none_or(|target| target.allocation == allocation) {
        flush(machine);
    }
}

/// The operand of an update that changes nothing.
#[derive(Debug, Clone, Copy)]
enum Neutral {
    Zero,
    Ones,
    /// The least signed number.
    Least,
    /// The greatest signed number.
    Greatest,
}

impl Neutral {
    #[inline(always)]
    fn of<T: Lane>(self) -> T {
        let sign = 1 << (8 * size_of::<T>() - 1);
        T::from_bits(match self {
            Neutral::Zero => 0,
            Neutral::Ones => u64::MAX,
            Neutral::Least => sign,
            Neutral::Greatest => sign - 1,
        })
    }
}

/// An update that may be applied to operands first: `merged(merged(x, a), b)` is `merged(x, merged(a, b))`.
trait Merging<T> {
    const NEUTRAL: Neutral;

    fn merged(a: T, b: T) -> T;
}

/// As [`replace`], for such an update; nobody reads the old elements, and programs run in parallel. False
/// where it cannot be done so.
#[inline(always)]
fn merge<T: Lane, M: Merging<T>>(machine: &mut Machine<'_>, access: Access, operand: Slot) -> bool {
    let size = size_of::<T>();
    let context = machine.context;
    let target = match machine.frame.provenance(access.pointers) {
        Provenance::Uniform(tensor) => context.memory.target(*tensor),
        Provenance::Dense(_) => None,
    };
    let Some(target) = target.filter(|t| t.base.is_multiple_of(size as u64)) else {
        return false;
    };
    let elements = target.len as usize / size;
    if elements > MAX_GATHERED {
        return false;
    }
    if machine.gathered.of != Some((machine.at, target.allocation)) {
        flush(machine);
        machine
            .gathered
            .begin::<T, M>(machine.at, target.allocation, elements);
    }
    let mut gathered = std::mem::take(&mut machine.gathered);
    let so_far: &mut [T] = bytemuck::cast_slice_mut(&mut gathered.operands);
    let (so_far, touched) = (&mut so_far[..elements], &mut gathered.touched[..elements]);
    let mut add = |element: usize, operand: T| {
        so_far[element] = M::merged(so_far[element], operand);
        touched[element] = true;
    };
    let operands = machine.frame.tile::<T>(operand, access.lanes);
    let mut faults = Vec::new();
    match (access.scattered(machine), operands) {
        (Some((target, pointers)), Tile::Uniform(operand)) => {
            for pointer in pointers {
                add((pointer - target.base) as usize / size, operand);
            }
        }
        (Some((target, pointers)), Tile::Dense(operands)) => {
            for (pointer, &operand) in pointers.iter().zip(operands) {
                add((pointer - target.base) as usize / size, operand);
            }
        }
        (None, operands) => {
            faults = access.checked(machine, |_, piece| {
                for i in 0..piece.count {
                    add(piece.offset / size + i, operands.lane(piece.lane + i));
                }
            });
        }
    }
    machine.gathered = gathered;
    access.report(machine, faults);
    true
}

/// Notes that a piece was written.
fn log(written: &mut [Option<Written>], piece: Piece, elem: usize) {
    if let Some(Some(log)) = written.get_mut(piece.allocation) {
        log.add(piece.offset as u64, (piece.offset + piece.count * elem) as u64);
    }
}

/// An update whose operand is a tile of `T`.
macro_rules! by {
    ($T:ty, |$old:ident, $operand:ident| $new:expr) => {
        Some(
            (|machine, access, operand, out| {
                if machine.context.tape.order == Order::Logged {
                    return logged::note::<$T>(machine, access, operand, |memory, run, operands| {
                        run.apply::<$T>(memory, operands, |$old, $operand| $new)
                    });
                }
                flush_before(machine, access);
                replace::<$T, 1>(machine, access, [operand], out, |$old, [$operand]| $new)
            }) as Update,
        )
    };
}

/// The same, of an update that merges.
macro_rules! merging {
    ($T:ty, $new:ident, $neutral:ident) => {{
        struct M;
        impl<T: Signless> Merging<T> for M {
            const NEUTRAL: Neutral = Neutral::$neutral;

            #[inline(always)]
            fn merged(a: T, b: T) -> T {
                a.$new(b)
            }
        }
        Some(
            (|machine, access, operand, out| {
                if machine.context.tape.order == Order::Logged {
                    return logged::note::<$T>(machine, access, operand, |memory, run, operands| {
                        run.apply::<$T>(memory, operands, |old, operand| old.$new(operand))
                    });
                }
                let parallel = out.is_none() && machine.context.tape.order == Order::Parallel;
                if !(parallel && merge::<$T, M>(machine, access, operand)) {
                    flush_before(machine, access);
                    replace::<$T, 1>(machine, access, [operand], out, |old, [operand]| {
                        old.$new(operand)
                    });
                }
            }) as Update,
        )
    }};
}

fn integer<T: Signless>(kind: RmwKind) -> Option<Update> {
    match kind {
        RmwKind::And => merging!(T, and, Ones),
        RmwKind::Or => merging!(T, or, Zero),
        RmwKind::Xor => merging!(T, xor, Zero),
        RmwKind::Add => merging!(T, add, Zero),
        RmwKind::Max => merging!(T, max_signed, Least),
        RmwKind::Min => merging!(T, min_signed, Greatest),
        RmwKind::Umax => merging!(T, max_unsigned, Zero),
        RmwKind::Umin => merging!(T, min_unsigned, Ones),
        RmwKind::Fadd | RmwKind::Xchg => None,
    }
}

/// The update of a read-modify-write on elements of a kind; none where it is not defined for them.
fn rmw(kind: RmwKind, elem: Kind) -> Option<Update> {
    match (kind, elem) {
        (_, Kind::Bool | Kind::Ptr) => None,
        (RmwKind::Xchg, _) => with_width!(elem, T => by!(T, |_old, new| new)),
        (RmwKind::Fadd, Kind::F16) => by!(F16, |a, b| Arithmetic::add(a, b)),
        (RmwKind::Fadd, Kind::Bf16) => by!(Bf16, |a, b| Arithmetic::add(a, b)),
        (RmwKind::Fadd, Kind::F32) => by!(f32, |a, b| Arithmetic::add(a, b)),
        (RmwKind::Fadd, Kind::F64) => by!(f64, |a, b| Arithmetic::add(a, b)),
        (_, Kind::I8) => integer::<u8>(kind),
        (_, Kind::I16) => integer::<u16>(kind),
        (_, Kind::I32) => integer::<u32>(kind),
        (_, Kind::I64) => integer::<u64>(kind),
        _ => None,
    }
}

fn float_reduction<T: Lane + Arithmetic>(kind: ReduceKind) -> Option<Update> {
    match kind {
        ReduceKind::Add => by!(T, |a, b| Arithmetic::add(a, b)),
        ReduceKind::Min => by!(T, |a, b| Arithmetic::minnum(a, b)),
        ReduceKind::Max => by!(T, |a, b| Arithmetic::maxnum(a, b)),
        _ => None,
    }
}

fn integer_reduction<T: Signless>(kind: ReduceKind, signed: bool) -> Option<Update> {
    match kind {
        ReduceKind::Add => integer::<T>(RmwKind::Add),
        ReduceKind::Min if signed => integer::<T>(RmwKind::Min),
        ReduceKind::Min => integer::<T>(RmwKind::Umin),
        ReduceKind::Max if signed => integer::<T>(RmwKind::Max),
        ReduceKind::Max => integer::<T>(RmwKind::Umax),
        ReduceKind::And => integer::<T>(RmwKind::And),
        ReduceKind::Or => integer::<T>(RmwKind::Or),
        ReduceKind::Xor => integer::<T>(RmwKind::Xor),
        // Counts up to the operand, then from 0 again.
        ReduceKind::Inc => by!(T, |a, b| match a.less_unsigned(b) {
            true => a.add(T::from_bits(1)),
            false => T::from_bits(0),
        }),
        // Counts down from the operand to 0, then from the operand again.
        ReduceKind::Dec => by!(T, |a, b| match a == T::from_bits(0) || b.less_unsigned(a) {
            true => b,
            false => a.sub(T::from_bits(1)),
        }),
    }
}

/// The update of a `tt.descriptor_reduce` on elements of a kind, and how it commutes; none where it is
/// not defined for them. Integers are signed unless the descriptor says otherwise.
pub fn reduction(kind: ReduceKind, elem: Kind, signed: bool) -> Option<(Update, Option<order::Commuting>)> {
    use order::Commuting;
    let update = match elem {
        Kind::F16 => float_reduction::<F16>(kind),
        Kind::Bf16 => float_reduction::<Bf16>(kind),
        Kind::F32 => float_reduction::<f32>(kind),
        Kind::F64 => float_reduction::<f64>(kind),
        Kind::I8 => integer_reduction::<u8>(kind, signed),
        Kind::I16 => integer_reduction::<u16>(kind, signed),
        Kind::I32 => integer_reduction::<u32>(kind, signed),
        Kind::I64 => integer_reduction::<u64>(kind, signed),
        _ => None,
    };
    let float = elem.is_float();
    let commuting = match kind {
        ReduceKind::Add => (!float).then_some(Commuting::Add),
        ReduceKind::Max if float => Some(Commuting::FloatMax),
        ReduceKind::Min if float => Some(Commuting::FloatMin),
        ReduceKind::Max => Some(if signed { Commuting::Max } else { Commuting::Umax }),
        ReduceKind::Min => Some(if signed { Commuting::Min } else { Commuting::Umin }),
        ReduceKind::And => Some(Commuting::And),
        ReduceKind::Or => Some(Commuting::Or),
        ReduceKind::Xor => Some(Commuting::Xor),
        ReduceKind::Inc | ReduceKind::Dec => None,
    };
    update.map(|update| (update, commuting))
}

/// An update of memory: operands are the pointers, the operand, maybe a mask; the result, if there is
/// one, is what was there before.
#[derive(Debug)]
pub struct Modify {
    /// The update.
    pub update: Update,
    /// Kind of the elements.
    pub elem: Kind,
    /// The program may wait for others by it, so it gives way at the next jump back.
    pub waits: bool,
    /// What was there before counts.
    pub reads: bool,
    /// What it orders.
    pub orders: Orders,
}

impl Step for Modify {
    fn reads_forms(&self) -> bool {
        true
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        if self.waits {
            machine.sync();
        }
        machine.frame.flatten(inst.ins[1]);
        let mask = inst.ins.get(2).copied();
        let access = access(inst, machine, AccessKind::Atomic, mask, self.elem);
        if self.reads {
            use_unwritten(machine, access);
        }
        begin(machine, access, self.orders);
        hunt::suspect(machine, access, inst.ins[1], self.elem);
        let mut out = inst.outs.first().copied();
        // In parallel nobody reads the old values ([`order`]).
        if let (Some(slot), Order::Parallel | Order::Logged) = (out, machine.context.tape.order) {
            machine.frame.set_uniform(slot, 0);
            out = None;
        }
        (self.update)(machine, access, inst.ins[1], out);
        ordered::release(machine, access, self.orders, true, |_| true);
        Ok(Flow::Next)
    }

    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        use_operands(inst, machine, &inst.ins[..2], inst.ins.get(2).copied(), self.elem);
    }
}

fn access(inst: &Inst, machine: &Machine<'_>, kind: AccessKind, mask: Option<Slot>, elem: Kind) -> Access {
    Access {
        kind,
        pointers: inst.ins[0],
        mask,
        lanes: inst.lanes(machine),
        elem: elem.bytes(),
    }
}

/// Before an atomic acts: what it takes from others, and that it touches its elements.
fn begin(machine: &mut Machine<'_>, access: Access, orders: Orders) {
    ordered::acquire(machine, access, orders);
    access::note_touch(machine, access, orders.touch);
    exact::look(machine, access);
}

/// What an atomic orders; `writes` if it does.
fn orders(function: &Function, op: OpId, writes: bool) -> Orders {
    match function.ops[op].attrs {
        Attrs::Rmw(_, semantic, scope) | Attrs::Atomic(semantic, scope) => {
            Orders::new(semantic, scope, writes)
        }
        _ => Orders::RELAXED,
    }
}

/// Elements that an atomic reads and nothing wrote are used here: reported, and defined afterwards.
fn use_unwritten(machine: &mut Machine<'_>, access: Access) {
    if !machine.context.memory.initialised.is_any() {
        return;
    }
    let at = machine.at;
    for (lane, tensor, address) in access::unwritten(machine, access) {
        let key = Key {
            check: Check::UninitLoad,
            at,
            tensor,
        };
        let bytes = access.elem as u32;
        machine.sink.report(key, 1, || Detail::Undefined {
            lane,
            born: at,
            how: Use::Atomic,
            from: Some((address, bytes)),
        });
        machine
            .context
            .memory
            .write_first(&machine.own, tensor, address, bytes);
    }
}

/// Uses of an atomic: the mask, and its operands' active lanes. What it gives is defined.
fn use_operands(inst: &Inst, machine: &mut Machine<'_>, operands: &[Slot], mask: Option<Slot>, elem: Kind) {
    let lanes = inst.lanes(machine);
    if let Some(mask) = mask {
        taint::use_lanes(machine, mask, lanes, Use::Mask, |_, _| true);
    }
    for &slot in operands {
        let how = if slot == inst.ins[0] {
            Use::Address
        } else {
            Use::Atomic
        };
        taint::use_lanes(machine, slot, lanes, how, |m, lane| {
            is_active(m, mask, lanes, lane)
                && (how == Use::Address || hunt::is_still(m, slot, elem, lanes, lane))
        });
    }
    for &out in &inst.outs {
        machine.taint.set(out, None);
    }
}

/// `tt.atomic_cas`: operands are the pointers, the expected values, the new values.
#[derive(Debug)]
struct CompareAndSwap {
    elem: Kind,
    orders: Orders,
}

impl Step for CompareAndSwap {
    fn reads_forms(&self) -> bool {
        true
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        machine.sync();
        inst.ins[1..].iter().for_each(|&slot| machine.frame.flatten(slot));
        let access = access(inst, machine, AccessKind::Atomic, None, self.elem);
        let operands = [inst.ins[1], inst.ins[2]];
        use_unwritten(machine, access);
        begin(machine, access, self.orders);
        let lanes = access.lanes;
        // Only a swap that took place releases.
        let swapped: Vec<bool> = with_width!(self.elem, T => {
            replace::<T, 2>(machine, access, operands, Some(inst.outs[0]), |old, [expected, new]| {
                if old == expected { new } else { old }
            });
            match machine.ordered.is_some() {
                true => {
                    let old = machine.frame.tile::<T>(inst.outs[0], lanes);
                    let expected = machine.frame.tile::<T>(inst.ins[1], lanes);
                    (0..lanes).map(|lane| old.lane(lane) == expected.lane(lane)).collect()
                }
                false => Vec::new(),
            }
        });
        let acted = |lane: usize| swapped.get(lane).copied().unwrap_or(false);
        ordered::release(machine, access, self.orders, true, acted);
        Ok(Flow::Next)
    }

    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        use_operands(inst, machine, &inst.ins, None, self.elem);
    }
}

/// `tt.atomic_load`: operands are the pointers, maybe a mask.
#[derive(Debug)]
struct AtomicLoad {
    elem: Kind,
    orders: Orders,
}

impl Step for AtomicLoad {
    fn reads_forms(&self) -> bool {
        true
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        machine.sync();
        let mask = inst.ins.get(1).copied();
        let access = access(inst, machine, AccessKind::AtomicLoad, mask, self.elem);
        use_unwritten(machine, access);
        begin(machine, access, self.orders);
        with_width!(self.elem, T => access::load::<T>(machine, access, None, inst.outs[0]));
        Ok(Flow::Next)
    }

    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        use_operands(inst, machine, &inst.ins[..1], inst.ins.get(1).copied(), self.elem);
    }
}

/// `tt.atomic_store`: operands are the pointers, the values, maybe a mask.
#[derive(Debug)]
struct AtomicStore {
    elem: Kind,
    orders: Orders,
}

impl Step for AtomicStore {
    fn reads_forms(&self) -> bool {
        true
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        machine.frame.flatten(inst.ins[1]);
        let mask = inst.ins.get(2).copied();
        let access = access(inst, machine, AccessKind::Atomic, mask, self.elem);
        begin(machine, access, self.orders);
        hunt::suspect(machine, access, inst.ins[1], self.elem);
        with_width!(self.elem, T => access::store::<T>(machine, access, inst.ins[1]));
        ordered::release(machine, access, self.orders, false, |_| true);
        Ok(Flow::Next)
    }

    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        use_operands(inst, machine, &inst.ins[..2], inst.ins.get(2).copied(), self.elem);
    }
}

/// Element kind and lanes of an atomic's pointers, where they are run.
fn elements(lower: &Lower<'_>, function: &Function, op: OpId) -> Result<(Kind, u32)> {
    let data = &function.ops[op];
    let pointers = data.operands[0];
    let pointee = function.ty(pointers).elem().and_then(Elem::pointer);
    let kind = pointee.and_then(|p| Kind::of(p.target()));
    match kind {
        _ if lower.in_region() => Err(lower.unsupported(
            function,
            op,
            "an atomic in a region of a reduce, scan or map is not run",
        )),
        Some(kind) if !matches!(kind, Kind::Bool | Kind::Ptr) => Ok((kind, lower.lanes(function, pointers))),
        _ => {
            let what = format!("{} through {} is not run", data.code, function.ty(pointers));
            Err(lower.unsupported(function, op, what))
        }
    }
}

/// `tt.atomic_rmw`.
pub fn atomic_rmw(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let (elem, lanes) = elements(lower, function, op)?;
    let data = &function.ops[op];
    let update = match data.attrs {
        Attrs::Rmw(kind, ..) => rmw(kind, elem),
        _ => None,
    };
    let Some(update) = update else {
        let what = format!(
            "this {} of {} is not run",
            data.code,
            function.ty(data.operands[0])
        );
        return Err(lower.unsupported(function, op, what));
    };
    let waits = order::need_for_update(lower, function, op);
    let ins = lower.operands(data);
    let out = lower.result(function, op)?;
    let reads = !matches!(function.ops[op].attrs, Attrs::Rmw(RmwKind::Xchg, ..));
    let step = Modify {
        update,
        elem,
        waits,
        reads,
        orders: orders(function, op, true),
    };
    lower.emit(step, ins, vec![out], lanes);
    Ok(())
}

/// `tt.atomic_cas`.
pub fn atomic_cas(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let (elem, lanes) = elements(lower, function, op)?;
    lower.need(Order::Cooperative);
    let ins = lower.operands(&function.ops[op]);
    let out = lower.result(function, op)?;
    let orders = orders(function, op, true);
    lower.emit(CompareAndSwap { elem, orders }, ins, vec![out], lanes);
    Ok(())
}

/// `tt.atomic_load`.
pub fn atomic_load(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let (elem, lanes) = elements(lower, function, op)?;
    lower.need(Order::Cooperative);
    let ins = lower.operands(&function.ops[op]);
    let out = lower.result(function, op)?;
    let orders = orders(function, op, false);
    lower.emit(AtomicLoad { elem, orders }, ins, vec![out], lanes);
    Ok(())
}

/// `tt.atomic_store`: in program order, for the last one to stay.
pub fn atomic_store(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let (elem, lanes) = elements(lower, function, op)?;
    lower.need(Order::Sequential);
    let ins = lower.operands(&function.ops[op]);
    let orders = orders(function, op, true);
    lower.emit(AtomicStore { elem, orders }, ins, vec![], lanes);
    Ok(())
}

/// `tt.atomic_poll`.
pub fn atomic_poll(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let (elem, lanes) = elements(lower, function, op)?;
    lower.need(Order::Cooperative);
    let mut ins = lower.operands(&function.ops[op]);
    let limit = ins.split_off(2);
    let waiting = lower.temp(Kind::Bool, lanes);
    let rounds = lower.temp(Kind::I64, 1);
    let matched = lower.result(function, op)?;
    let state = vec![waiting, matched, rounds];
    lower.emit(BeginPoll, vec![], state.clone(), lanes);
    let again = lower.label();
    lower.place(again);
    ins.extend(state.iter().chain(&limit));
    let orders = orders(function, op, false);
    lower.emit(Poll { elem, again, orders }, ins, state, lanes);
    lower.jumps_to(again);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neutral_operands_are_as_wide_as_the_element() {
        assert_eq!(Neutral::Ones.of::<u16>(), u16::MAX);
        assert_eq!(Neutral::Least.of::<u8>() as i8, i8::MIN);
        assert_eq!(Neutral::Greatest.of::<u32>() as i32, i32::MAX);
        assert_eq!(Neutral::Least.of::<u64>() as i64, i64::MIN);
        assert_eq!(Neutral::Greatest.of::<u64>() as i64, i64::MAX);
    }
}
