//! Pointers, loads, stores, block pointers and tensor descriptors.

use crate::access::{self, Access};
use crate::frame::{Provenance, Slot, Tile};
use crate::kind::{Bool, Kind, Lane};
use crate::lower::Lower;
use crate::machine::{Flow, Machine, Stop};
use crate::sink::AccessKind;
use crate::steps::cast::owners;
use crate::steps::symbolic;
use crate::taint;
use crate::tape::{Inst, Order, Step};
use crate::with_width;
use tilescope_diagnostics::Result;
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
            &mut machine.frame,
            [inst.ins[0], inst.ins[1]],
            inst.outs[0],
            lanes,
            |p: u64, o: T| p.wrapping_add((signed(o) as u64).wrapping_mul(bytes)),
        );
    }
}

impl Step for AddPtr {
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
struct Load {
    kind: Kind,
    volatile: bool,
}

impl Step for Load {
    fn reads_forms(&self) -> bool {
        true
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        if let Some(&other) = inst.ins.get(2) {
            machine.frame.flatten(other);
        }
        machine.synced |= self.volatile;
        let access = Access {
            kind: AccessKind::Load,
            pointers: inst.ins[0],
            mask: inst.ins.get(1).copied(),
            lanes: inst.lanes(machine),
            elem: self.kind.bytes(),
        };
        let (other, out) = (inst.ins.get(2).copied(), inst.outs[0]);
        with_width!(self.kind, T => access::load::<T>(machine, access, other, out));
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
                let provenance = owners(machine, out, inst.lanes(machine));
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
    }
}

/// Uses of an access: the mask, and the addresses of active lanes.
fn use_access(inst: &Inst, machine: &mut Machine<'_>, lanes: usize) {
    let mask = inst.ins.get(1).copied();
    if let Some(mask) = mask {
        taint::use_lanes(machine, mask, lanes, |_, _| true);
    }
    taint::use_lanes(machine, inst.ins[0], lanes, |m, lane| {
        is_active(m, mask, lanes, lane)
    });
}

/// True if a lane is not masked off.
pub fn is_active(machine: &Machine<'_>, mask: Option<Slot>, lanes: usize, lane: usize) -> bool {
    mask.is_none_or(|mask| machine.frame.tile::<Bool>(mask, lanes).lane(lane).0 != 0)
}

/// `tt.store` through pointers: operands are the pointers, the mask if `masked`, the value.
#[derive(Debug)]
struct Store {
    kind: Kind,
    masked: bool,
}

impl Step for Store {
    fn reads_forms(&self) -> bool {
        true
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        machine.frame.flatten(inst.ins[inst.ins.len() - 1]);
        let access = Access {
            kind: AccessKind::Store,
            pointers: inst.ins[0],
            mask: self.masked.then(|| inst.ins[1]),
            lanes: inst.lanes(machine),
            elem: self.kind.bytes(),
        };
        let value = inst.ins[inst.ins.len() - 1];
        with_width!(self.kind, T => access::store::<T>(machine, access, value));
        Ok(Flow::Next)
    }

    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        let lanes = inst.lanes(machine);
        let mask = self.masked.then(|| inst.ins[1]);
        if let Some(mask) = mask {
            taint::use_lanes(machine, mask, lanes, |_, _| true);
        }
        for slot in [inst.ins[0], inst.ins[inst.ins.len() - 1]] {
            taint::use_lanes(machine, slot, lanes, |m, lane| is_active(m, mask, lanes, lane));
        }
    }
}

fn is_volatile(attrs: &Attrs) -> bool {
    matches!(attrs, Attrs::Access(access) if access.volatile)
}

/// `tt.load`.
pub fn load(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    if let Type::BlockPtr(..) = function.ty(data.operands[0]) {
        return block_load(lower, function, op);
    }
    let volatile = is_volatile(&data.attrs);
    if volatile {
        lower.need(Order::Cooperative);
    }
    let kind = lower.kind(function, data.results[0]);
    let ins = lower.operands(data);
    let out = lower.result(function, op)?;
    let lanes = lower.lanes(function, data.results[0]);
    lower.emit(Load { kind, volatile }, ins, vec![out], lanes);
    Ok(())
}

/// `tt.store`.
pub fn store(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    if let Type::BlockPtr(..) = function.ty(data.operands[0]) {
        return block_store(lower, function, op);
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

/// Addresses and in-box mask of a block: operands are base, shape, strides, offsets.
///
/// Offsets and shapes are 64 bits, or 32 bits signed where `narrow` says so.
#[derive(Debug)]
struct BlockAddresses {
    /// Elements per dimension of the block.
    block: Vec<usize>,
    /// Per dimension: lanes outside the tensor are masked off.
    checked: Vec<bool>,
    /// Bytes of an element.
    bytes: u64,
}

impl BlockAddresses {
    fn integers(machine: &Machine<'_>, slots: &[Slot]) -> Vec<i64> {
        slots
            .iter()
            .map(|&s| machine.frame.scalar::<u64>(s) as i64)
            .collect()
    }
}

impl Step for BlockAddresses {
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let rank = self.block.len();
        let base = machine.frame.scalar::<u64>(inst.ins[0]);
        let shape = BlockAddresses::integers(machine, &inst.ins[1..1 + rank]);
        let strides = BlockAddresses::integers(machine, &inst.ins[1 + rank..1 + 2 * rank]);
        let offsets = BlockAddresses::integers(machine, &inst.ins[1 + 2 * rank..1 + 3 * rank]);
        let lanes: usize = self.block.iter().product();
        let provenance = machine.frame.provenance(inst.ins[0]).clone();
        let walk = |lane: usize| {
            let (mut rest, mut address, mut inside) = (lane, base, true);
            for axis in (0..rank).rev() {
                let at = offsets[axis].wrapping_add((rest % self.block[axis]) as i64);
                rest /= self.block[axis];
                inside &= !self.checked[axis] || (0..shape[axis]).contains(&at);
                address =
                    address.wrapping_add((at.wrapping_mul(strides[axis]) as u64).wrapping_mul(self.bytes));
            }
            (address, inside)
        };
        machine
            .frame
            .fill::<u64>(inst.outs[0], lanes, |_, lane| walk(lane).0);
        machine.frame.set_provenance(inst.outs[0], provenance);
        machine
            .frame
            .fill::<Bool>(inst.outs[1], lanes, |_, lane| Bool::from(walk(lane).1));
        Ok(Flow::Next)
    }

    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        for &slot in &inst.ins {
            taint::use_lanes(machine, slot, 1, |_, _| true);
        }
        for &out in &inst.outs {
            machine.taint.set(out, None);
        }
    }
}

/// Widens an integer scalar to 64 bits, signed.
#[derive(Debug)]
struct Widen {
    kind: Kind,
}

impl Step for Widen {
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let bits = machine.frame.scalar::<u64>(inst.ins[0]);
        let wide = match self.kind {
            Kind::I8 => bits as i8 as u64,
            Kind::I16 => bits as i16 as u64,
            Kind::I32 => bits as i32 as u64,
            _ => bits,
        };
        machine.frame.set_uniform(inst.outs[0], wide);
        Ok(Flow::Next)
    }
}

/// Adds two 64-bit scalars.
#[derive(Debug)]
struct AddScalar;

impl Step for AddScalar {
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let sum = machine
            .frame
            .scalar::<u64>(inst.ins[0])
            .wrapping_add(machine.frame.scalar::<u64>(inst.ins[1]));
        machine.frame.set_uniform(inst.outs[0], sum);
        Ok(Flow::Next)
    }
}

/// A slot with the value widened to 64 bits.
fn widened(lower: &mut Lower<'_>, function: &Function, value: tilescope_ir::ValueId) -> Slot {
    let kind = lower.kind(function, value);
    let from = lower.slot(value);
    let to = lower.temp(Kind::I64, 1);
    lower.emit(Widen { kind }, vec![from], vec![to], 1);
    to
}

/// Copies the base pointer and widens the integers of a block pointer or descriptor into its slots.
fn aggregate(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let mut from = vec![lower.slot(data.operands[0])];
    for &value in &data.operands[1..] {
        from.push(widened(lower, function, value));
    }
    let to = lower.define(function, data.results[0])?;
    lower.moves(&from, &to);
    Ok(())
}

/// `tt.make_tensor_ptr`: base, shape, strides, offsets.
pub fn make_tensor_ptr(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    aggregate(lower, function, op)
}

/// `tt.make_tensor_descriptor`: base, shape, strides.
pub fn make_tensor_descriptor(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    aggregate(lower, function, op)
}

/// `tt.advance`: adds to the offsets.
pub fn advance(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let from = lower.slots(data.operands[0]).to_vec();
    let rank = data.operands.len() - 1;
    let to = lower.define(function, data.results[0])?;
    let keep = from.len().saturating_sub(rank);
    lower.moves(&from[..keep], &to[..keep]);
    for (i, &offset) in data.operands[1..].iter().enumerate() {
        let by = widened(lower, function, offset);
        lower.emit(AddScalar, vec![from[keep + i], by], vec![to[keep + i]], 1);
    }
    Ok(())
}

/// Emits the addresses and the mask of a block; gives their slots.
fn block_addresses(
    lower: &mut Lower<'_>,
    aggregate: Vec<Slot>,
    block: Vec<usize>,
    checked: Vec<bool>,
    bytes: usize,
) -> (Slot, Slot) {
    let lanes: usize = block.iter().product();
    let pointers = lower.temp(Kind::Ptr, lanes as u32);
    let mask = lower.temp(Kind::Bool, lanes as u32);
    let step = BlockAddresses {
        block,
        checked,
        bytes: bytes as u64,
    };
    lower.emit(step, aggregate, vec![pointers, mask], lanes as u32);
    (pointers, mask)
}

/// Fills masked-off lanes of a padded load.
#[derive(Debug)]
struct Constant {
    bits: u64,
}

impl Step for Constant {
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        machine.frame.set_uniform(inst.outs[0], self.bits);
        Ok(Flow::Next)
    }
}

/// A slot with the padding of a block load: zero, or NaN where asked for.
fn padding(lower: &mut Lower<'_>, kind: Kind, nan: bool) -> Slot {
    let bits = match kind {
        _ if !nan => 0,
        Kind::F16 => 0x7fff,
        Kind::Bf16 => 0x7fff,
        Kind::F32 => 0x7fff_ffff,
        Kind::F64 => 0x7fff_ffff_ffff_ffff,
        Kind::F8E4M3 | Kind::F8E5M2 => 0x7f,
        _ => 0,
    };
    let slot = lower.temp(kind, 1);
    lower.emit(Constant { bits }, vec![], vec![slot], 1);
    slot
}

fn block_parts(function: &Function, op: OpId) -> Option<(Vec<usize>, Vec<bool>, usize, bool)> {
    let data = &function.ops[op];
    let (Type::BlockPtr(shape, elem), Attrs::Access(attrs)) = (function.ty(data.operands[0]), &data.attrs)
    else {
        return None;
    };
    let block: Vec<usize> = shape.dims().collect();
    let checked = (0..block.len())
        .map(|axis| attrs.boundary_check.contains(&(axis as u32)))
        .collect();
    let nan = attrs.padding == Some(tilescope_ir::attrs::Padding::Nan);
    Some((block, checked, elem.bytes(), nan))
}

/// `tt.load` of a block pointer.
fn block_load(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let Some((block, checked, bytes, nan)) = block_parts(function, op) else {
        return Err(lower.unsupported(function, op, "a block load without attributes"));
    };
    let data = &function.ops[op];
    let aggregate = lower.slots(data.operands[0]).to_vec();
    let (pointers, mask) = block_addresses(lower, aggregate, block, checked, bytes);
    let kind = lower.kind(function, data.results[0]);
    let other = padding(lower, kind, nan);
    let out = lower.result(function, op)?;
    let lanes = lower.lanes(function, data.results[0]);
    lower.emit(
        Load {
            kind,
            volatile: false,
        },
        vec![pointers, mask, other],
        vec![out],
        lanes,
    );
    Ok(())
}

/// `tt.store` of a block pointer.
fn block_store(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let Some((block, checked, bytes, _)) = block_parts(function, op) else {
        return Err(lower.unsupported(function, op, "a block store without attributes"));
    };
    let data = &function.ops[op];
    let aggregate = lower.slots(data.operands[0]).to_vec();
    let (pointers, mask) = block_addresses(lower, aggregate, block, checked, bytes);
    let kind = lower.kind(function, data.operands[1]);
    let value = lower.slot(data.operands[1]);
    let lanes = lower.lanes(function, data.operands[1]);
    lower.emit(
        Store { kind, masked: true },
        vec![pointers, mask, value],
        vec![],
        lanes,
    );
    Ok(())
}

/// `tt.descriptor_load`: descriptor, then one offset per dimension.
pub fn descriptor_load(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let Some((pointers, mask, _)) = descriptor_block(lower, function, op, 1) else {
        return Err(lower.unsupported(
            function,
            op,
            "a descriptor load of something that is no descriptor",
        ));
    };
    let kind = lower.kind(function, data.results[0]);
    let other = padding(lower, kind, false);
    let out = lower.result(function, op)?;
    let lanes = lower.lanes(function, data.results[0]);
    lower.emit(
        Load {
            kind,
            volatile: false,
        },
        vec![pointers, mask, other],
        vec![out],
        lanes,
    );
    Ok(())
}

/// `tt.descriptor_store`: descriptor, the block, then one offset per dimension.
pub fn descriptor_store(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let Some((pointers, mask, _)) = descriptor_block(lower, function, op, 2) else {
        return Err(lower.unsupported(
            function,
            op,
            "a descriptor store to something that is no descriptor",
        ));
    };
    let kind = lower.kind(function, data.operands[1]);
    let value = lower.slot(data.operands[1]);
    let lanes = lower.lanes(function, data.operands[1]);
    lower.emit(
        Store { kind, masked: true },
        vec![pointers, mask, value],
        vec![],
        lanes,
    );
    Ok(())
}

/// Addresses and mask of the block at the offsets that begin at operand `first`.
fn descriptor_block(
    lower: &mut Lower<'_>,
    function: &Function,
    op: OpId,
    first: usize,
) -> Option<(Slot, Slot, usize)> {
    let data = &function.ops[op];
    let Type::Descriptor { block, elem, .. } = function.ty(data.operands[0]) else {
        return None;
    };
    let mut aggregate = lower.slots(data.operands[0]).to_vec();
    for &offset in data.operands.get(first..)? {
        aggregate.push(widened(lower, function, offset));
    }
    if aggregate.len() != 1 + 3 * block.rank() {
        return None;
    }
    let dims: Vec<usize> = block.dims().collect();
    let checked = vec![true; dims.len()];
    let (pointers, mask) = block_addresses(lower, aggregate, dims, checked, elem.bytes());
    Some((pointers, mask, elem.bytes()))
}

/// `tt.descriptor_gather`.
pub fn descriptor_gather(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    Err(lower.unsupported(function, op, "tt.descriptor_gather is not run yet"))
}

/// `tt.descriptor_scatter`.
pub fn descriptor_scatter(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    Err(lower.unsupported(function, op, "tt.descriptor_scatter is not run yet"))
}

/// `tt.descriptor_reduce`.
pub fn descriptor_reduce(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    Err(lower.unsupported(function, op, "tt.descriptor_reduce is not run yet"))
}

/// Lanes of pointers, for steps that touch memory lane by lane.
pub fn addresses(machine: &Machine<'_>, slot: Slot, lanes: usize) -> Vec<(u64, u32)> {
    let tile: Tile<'_, u64> = machine.frame.tile(slot, lanes);
    let provenance: &Provenance = machine.frame.provenance(slot);
    (0..lanes).map(|i| (tile.lane(i), provenance.lane(i))).collect()
}
