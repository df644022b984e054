//! Block pointers and tensor descriptors.
//!
//! Either is a group of scalars: base address, shape, strides, and for a block pointer its offsets, for a
//! descriptor the bits that lanes outside the tensor read. An access becomes a tile of addresses and a mask
//! of the lanes inside the tensor, both by formula, and then an ordinary load, store or atomic: lanes
//! outside are masked off and no fault. The `order` of dimensions is a hint without effect.

use super::{Load, Store};
use crate::checks::target_limit;
use crate::exact;
use crate::forms::{Box as MaskBox, Mask, Sum};
use crate::frame::Slot;
use crate::kind::{Bool, Kind};
use crate::lower::Lower;
use crate::machine::{Flow, Machine, Stop};
use crate::ordered::Orders;
use crate::steps::atomic::{Modify, order, reduction};
use crate::taint::{self, Use};
use crate::tape::{Inst, Step};
use tilescope_diagnostics::Result;
use tilescope_ir::attrs::Padding;
use tilescope_ir::{Attrs, Function, OpCode, OpId, Type, ValueId};

/// The lanes `lo..hi` of a dimension of a block that are inside the tensor.
type Inside = (u32, u32);

fn inside(offset: i64, shape: i64, lanes: usize) -> Inside {
    let lanes = lanes as i128;
    let lo = (-i128::from(offset)).clamp(0, lanes);
    let hi = (i128::from(shape) - i128::from(offset)).clamp(lo, lanes);
    (lo as u32, hi as u32)
}

fn log2(size: usize) -> Option<u8> {
    size.is_power_of_two().then(|| size.trailing_zeros() as u8)
}

fn integers(machine: &Machine<'_>, slots: &[Slot]) -> Vec<i64> {
    slots
        .iter()
        .map(|&s| machine.frame.scalar::<u64>(s) as i64)
        .collect()
}

/// Addresses and in-tensor mask of a block: operands are base, shape, strides, offsets.
#[derive(Debug)]
struct BlockAddresses {
    /// Elements per dimension of the block.
    block: Vec<usize>,
    /// Per dimension: lanes outside the tensor are masked off.
    checked: Vec<bool>,
    /// Bytes of an element.
    bytes: i64,
}

impl BlockAddresses {
    /// The addresses by formula; none where they leave 64 bits.
    fn sum(&self, base: i64, strides: &[i64], offsets: &[i64]) -> Option<Sum> {
        let mut start = base;
        let mut dims = Vec::with_capacity(self.block.len());
        for ((&size, stride), offset) in self.block.iter().zip(strides).zip(offsets) {
            let step = stride.checked_mul(self.bytes)?;
            start = start.checked_add(offset.checked_mul(step)?)?;
            dims.push((log2(size)?, step));
        }
        Sum::affine(start, &dims)
    }

    /// The address of a lane, wrapping around.
    fn address(&self, base: i64, strides: &[i64], offsets: &[i64], lane: usize) -> u64 {
        let (mut rest, mut address) = (lane, base);
        for axis in (0..self.block.len()).rev() {
            let at = offsets[axis].wrapping_add((rest % self.block[axis]) as i64);
            rest /= self.block[axis];
            address = address.wrapping_add(at.wrapping_mul(strides[axis]).wrapping_mul(self.bytes));
        }
        address as u64
    }

    /// The mask, from what is inside along each dimension.
    fn mask(&self, inside: &[Inside]) -> Mask {
        let len = |axis: usize| self.block[axis] as u32;
        match *inside {
            [] => Mask::all(1),
            [(lo, hi)] => Mask::Box(MaskBox {
                len: len(0),
                rows: 1,
                first: 0,
                last: 1,
                lo,
                hi,
            }),
            [(first, last), (lo, hi)] => Mask::Box(MaskBox {
                len: len(1),
                rows: len(0),
                first,
                last,
                lo,
                hi,
            }),
            [.., inner] => {
                let outer = self.block.len() - 1;
                let rows: usize = self.block[..outer].iter().product();
                let row_inside = |row: usize| {
                    let mut rest = row;
                    (0..outer).rev().all(|axis| {
                        let at = (rest % self.block[axis]) as u32;
                        rest /= self.block[axis];
                        (inside[axis].0..inside[axis].1).contains(&at)
                    })
                };
                Mask::Ragged {
                    len: len(outer),
                    intervals: (0..rows)
                        .map(|row| if row_inside(row) { inner } else { (0, 0) })
                        .collect(),
                }
            }
        }
    }
}

impl Step for BlockAddresses {
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let rank = self.block.len();
        let base = machine.frame.scalar::<u64>(inst.ins[0]) as i64;
        let shape = integers(machine, &inst.ins[1..1 + rank]);
        let strides = integers(machine, &inst.ins[1 + rank..1 + 2 * rank]);
        let offsets = integers(machine, &inst.ins[1 + 2 * rank..1 + 3 * rank]);
        let lanes: usize = self.block.iter().product();
        let provenance = machine.frame.provenance(inst.ins[0]).clone();
        match self.sum(base, &strides, &offsets) {
            Some(sum) => machine.frame.set_sum(inst.outs[0], sum, 8, |_, _| ()),
            None => {
                let address = |lane| self.address(base, &strides, &offsets, lane);
                machine
                    .frame
                    .fill::<u64>(inst.outs[0], lanes, |_, lane| address(lane));
            }
        }
        machine.frame.set_provenance(inst.outs[0], provenance);
        let ranges: Vec<Inside> = (0..rank)
            .map(|axis| match self.checked[axis] {
                true => inside(offsets[axis], shape[axis], self.block[axis]),
                false => (0, self.block[axis] as u32),
            })
            .collect();
        machine.frame.set_mask(inst.outs[1], self.mask(&ranges));
        Ok(Flow::Next)
    }

    fn exact(&self, inst: &Inst, machine: &mut Machine<'_>) {
        let rank = self.block.len();
        let strides = exact::integers(machine, &inst.ins[1 + rank..1 + 2 * rank]);
        let offsets = exact::integers(machine, &inst.ins[1 + 2 * rank..1 + 3 * rank]);
        let lanes = self.block.iter().product();
        exact::block(inst, machine, lanes, |lane| {
            let mut rest = lane;
            let part = |axis: usize| {
                let i = (rest % self.block[axis]) as i128;
                rest /= self.block[axis];
                offsets[axis].times(i, &strides[axis])
            };
            (0..rank)
                .rev()
                .map(part)
                .sum::<i128>()
                .saturating_mul(self.bytes.into())
        });
    }

    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        use_all(inst, machine, 1);
    }
}

/// All operands are used here, of the last one this many lanes; the results are defined.
fn use_all(inst: &Inst, machine: &mut Machine<'_>, last: usize) {
    for (i, &slot) in inst.ins.iter().enumerate() {
        let lanes = if i + 1 == inst.ins.len() { last } else { 1 };
        taint::use_lanes(machine, slot, lanes, Use::Address, |_, _| true);
    }
    for &out in &inst.outs {
        machine.taint.set(out, None);
    }
}

/// Addresses and in-tensor mask of chosen rows of a matrix: operands are base, both sizes, both strides,
/// the first column, the rows.
#[derive(Debug)]
struct RowAddresses {
    /// Kind of the row numbers, which are signed.
    kind: Kind,
    rows: usize,
    columns: usize,
    /// Bytes of an element.
    bytes: i64,
}

impl RowAddresses {
    /// The addresses by formula, and each row's part; none where they leave 64 bits.
    fn sum(&self, start: i64, row_step: i64, column_step: i64, rows: &[i64]) -> Option<(Sum, Vec<i64>)> {
        let parts = rows.iter().map(|row| row.checked_mul(row_step));
        let parts: Vec<i64> = parts.collect::<Option<_>>()?;
        let (&low, &high) = (parts.iter().min()?, parts.iter().max()?);
        let (outer, inner) = (log2(self.rows)?, log2(self.columns)?);
        if outer == 0 {
            let sum = Sum::affine(start.checked_add(low)?, &[(inner, column_step)])?;
            return Some((sum, Vec::new()));
        }
        let by_row = Sum::of_vector(outer, (low, high))?.broadcast(&[(outer, true), (inner, false)])?;
        let by_column = Sum::affine(start, &[(outer, 0), (inner, column_step)])?;
        let (sum, _) = by_row.add(&by_column)?;
        sum.bounds()?;
        Some((sum, parts))
    }
}

impl Step for RowAddresses {
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let base = machine.frame.scalar::<u64>(inst.ins[0]) as i64;
        let scalars = integers(machine, &inst.ins[1..6]);
        let [height, width, row_stride, column_stride, column] = [0, 1, 2, 3, 4].map(|i| scalars[i]);
        let numbers = inst.ins[6];
        let rows: Vec<i64> = match self.kind {
            Kind::I16 => {
                let tile = machine.frame.tile::<u16>(numbers, self.rows);
                (0..self.rows)
                    .map(|lane| i64::from(tile.lane(lane) as i16))
                    .collect()
            }
            _ => {
                let tile = machine.frame.tile::<u32>(numbers, self.rows);
                (0..self.rows)
                    .map(|lane| i64::from(tile.lane(lane) as i32))
                    .collect()
            }
        };
        let row_step = row_stride.wrapping_mul(self.bytes);
        let column_step = column_stride.wrapping_mul(self.bytes);
        let start = base.wrapping_add(column.wrapping_mul(column_step));
        match self.sum(start, row_step, column_step, &rows) {
            Some((sum, parts)) => machine
                .frame
                .set_sum(inst.outs[0], sum, 8, |_, vector| vector.copy_from_slice(&parts)),
            None => {
                let address = |lane: usize| {
                    let row = rows[lane / self.columns].wrapping_mul(row_step);
                    let column = ((lane % self.columns) as i64).wrapping_mul(column_step);
                    start.wrapping_add(row).wrapping_add(column) as u64
                };
                machine
                    .frame
                    .fill::<u64>(inst.outs[0], self.rows * self.columns, |_, lane| address(lane));
            }
        }
        let provenance = machine.frame.provenance(inst.ins[0]).clone();
        machine.frame.set_provenance(inst.outs[0], provenance);
        let columns = inside(column, width, self.columns);
        let intervals = rows.iter().map(|row| match (0..height).contains(row) {
            true => columns,
            false => (0, 0),
        });
        let mask = Mask::Ragged {
            len: self.columns as u32,
            intervals: intervals.collect(),
        };
        machine.frame.set_mask(inst.outs[1], mask);
        Ok(Flow::Next)
    }

    fn exact(&self, inst: &Inst, machine: &mut Machine<'_>) {
        let scalars = exact::integers(machine, &inst.ins[3..6]);
        let [row_stride, column_stride, column] = [0, 1, 2].map(|i| scalars[i]);
        let rows = exact::lanes(machine, inst.ins[6], self.kind, self.rows);
        exact::block(inst, machine, self.rows * self.columns, |lane| {
            let row = rows[lane / self.columns].times(0, &row_stride);
            let column = column.times((lane % self.columns) as i128, &column_stride);
            (row + column).saturating_mul(self.bytes.into())
        });
    }

    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        use_all(inst, machine, self.rows);
    }
}

/// Widens an integer scalar to 64 bits, signed.
#[derive(Debug)]
struct Widen {
    kind: Kind,
}

impl Step for Widen {
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let wide = match self.kind {
            Kind::Bool => (machine.frame.scalar::<Bool>(inst.ins[0]).0 as i64).wrapping_neg() as u64,
            Kind::I8 => machine.frame.scalar::<u8>(inst.ins[0]) as i8 as u64,
            Kind::I16 => machine.frame.scalar::<u16>(inst.ins[0]) as i16 as u64,
            Kind::I32 => machine.frame.scalar::<u32>(inst.ins[0]) as i32 as u64,
            _ => machine.frame.scalar::<u64>(inst.ins[0]),
        };
        machine.frame.set_uniform(inst.outs[0], wide);
        Ok(Flow::Next)
    }

    fn exact(&self, inst: &Inst, machine: &mut Machine<'_>) {
        exact::copied(inst, machine, |_| false);
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

    fn exact(&self, inst: &Inst, machine: &mut Machine<'_>) {
        exact::arithmetic(OpCode::AddI, Kind::I64, inst, machine);
    }
}

/// Bits known when lowering.
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

/// A slot with the value widened to 64 bits.
fn widened(lower: &mut Lower<'_>, function: &Function, value: ValueId) -> Slot {
    let kind = lower.kind(function, value);
    let from = lower.slot(value);
    let to = lower.temp(Kind::I64, 1);
    lower.emit(Widen { kind }, vec![from], vec![to], 1);
    to
}

/// A slot with the bits that a lane outside the tensor reads: zero, or NaN where asked for.
fn padding(lower: &mut Lower<'_>, kind: Kind, nan: bool) -> Slot {
    let bits = match kind {
        _ if !nan => 0,
        Kind::F16 | Kind::Bf16 => 0x7fff,
        Kind::F32 => 0x7fff_ffff,
        Kind::F64 => 0x7fff_ffff_ffff_ffff,
        Kind::F8E4M3 | Kind::F8E5M2 => 0x7f,
        Kind::F8E4M3B11Fnuz | Kind::F8E4M3Fnuz | Kind::F8E5M2Fnuz => 0x80,
        _ => 0,
    };
    let slot = lower.temp(Kind::I64, 1);
    lower.emit(Constant { bits }, vec![], vec![slot], 1);
    slot
}

/// The base pointer and the widened integers that a block pointer or descriptor is made of.
fn parts(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Vec<Slot> {
    let data = &function.ops[op];
    let mut from = vec![lower.slot(data.operands[0])];
    for &value in &data.operands[1..] {
        from.push(widened(lower, function, value));
    }
    from
}

/// `tt.make_tensor_ptr`: base, shape, strides, offsets.
pub fn make_tensor_ptr(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let from = parts(lower, function, op);
    let to = lower.define(function, function.ops[op].results[0])?;
    lower.moves(&from, &to);
    Ok(())
}

/// `tt.make_tensor_descriptor`: base, shape, strides.
pub fn make_tensor_descriptor(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let nan = data.attrs == Attrs::Padding(Padding::Nan);
    let kind = match function.ty(data.results[0]) {
        Type::Descriptor { elem, .. } => Kind::of(tilescope_ir::Elem::Scalar(elem)),
        _ => None,
    };
    let Some(kind) = kind else {
        return Err(lower.unsupported(function, op, "a descriptor of such elements is not run"));
    };
    let mut from = parts(lower, function, op);
    from.push(padding(lower, kind, nan));
    target_limit::descriptor(lower, function, op);
    let to = lower.define(function, data.results[0])?;
    lower.moves(&from, &to);
    Ok(())
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

/// Slots of what an access through a block pointer or descriptor works on.
struct Block {
    pointers: Slot,
    mask: Slot,
    /// Bits of a lane outside.
    padding: Slot,
    lanes: u32,
}

/// Emits the addresses and the mask of a block. Operands are base, shape, strides, offsets.
fn addresses(
    lower: &mut Lower<'_>,
    operands: Vec<Slot>,
    block: Vec<usize>,
    checked: Vec<bool>,
    bytes: usize,
) -> (Slot, Slot, u32) {
    let lanes = block.iter().product::<usize>() as u32;
    let pointers = lower.temp(Kind::Ptr, lanes);
    let mask = lower.temp(Kind::Bool, lanes);
    let step = BlockAddresses {
        block,
        checked,
        bytes: bytes as i64,
    };
    lower.emit(step, operands, vec![pointers, mask], lanes);
    (pointers, mask, lanes)
}

/// The block that a block pointer points to.
fn pointed(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<Block> {
    let data = &function.ops[op];
    let (Type::BlockPtr(shape, elem), Attrs::Access(attrs)) = (function.ty(data.operands[0]), &data.attrs)
    else {
        return Err(lower.unsupported(function, op, "a block pointer access without attributes"));
    };
    let block: Vec<usize> = shape.dims().collect();
    let checked = (0..block.len())
        .map(|axis| attrs.boundary_check.contains(&(axis as u32)))
        .collect();
    let operands = lower.slots(data.operands[0]).to_vec();
    let (pointers, mask, lanes) = addresses(lower, operands, block, checked, elem.bytes());
    let nan = attrs.padding == Some(Padding::Nan);
    let padding = padding(lower, Kind::of(elem).unwrap_or(Kind::I64), nan);
    Ok(Block {
        pointers,
        mask,
        padding,
        lanes,
    })
}

/// What a descriptor describes: slots of base, shape and strides, and of the padding.
struct Described {
    parts: Vec<Slot>,
    padding: Slot,
    block: Vec<usize>,
    bytes: usize,
}

fn described(lower: &Lower<'_>, function: &Function, op: OpId) -> Result<Described> {
    let value = function.ops[op].operands[0];
    let mut parts = lower.slots(value).to_vec();
    match (function.ty(value), parts.pop()) {
        (Type::Descriptor { block, elem, .. }, Some(padding)) if parts.len() == 1 + 2 * block.rank() => {
            Ok(Described {
                parts,
                padding,
                block: block.dims().collect(),
                bytes: elem.bytes(),
            })
        }
        _ => Err(lower.unsupported(function, op, "an access of something that is no descriptor")),
    }
}

/// The block of a descriptor at some offsets, one per dimension.
fn located(lower: &mut Lower<'_>, function: &Function, op: OpId, offsets: &[ValueId]) -> Result<Block> {
    let Described {
        parts: mut operands,
        padding,
        block,
        bytes,
    } = described(lower, function, op)?;
    if offsets.len() != block.len() {
        let what = format!("{} offsets for a block of rank {}", offsets.len(), block.len());
        return Err(lower.wrong(function, op, what));
    }
    for &offset in offsets {
        operands.push(widened(lower, function, offset));
    }
    let checked = vec![true; block.len()];
    let (pointers, mask, lanes) = addresses(lower, operands, block, checked, bytes);
    Ok(Block {
        pointers,
        mask,
        padding,
        lanes,
    })
}

/// Rows of a matrix that a descriptor describes, from a column on.
fn rows(
    lower: &mut Lower<'_>,
    function: &Function,
    op: OpId,
    rows: ValueId,
    column: ValueId,
) -> Result<Block> {
    let Described {
        parts: mut operands,
        padding,
        block,
        bytes,
    } = described(lower, function, op)?;
    let kind = lower.kind(function, rows);
    let ([1, columns], Kind::I16 | Kind::I32) = (&block[..], kind) else {
        let what = format!("{} of such blocks or rows is not run", function.ops[op].code);
        return Err(lower.unsupported(function, op, what));
    };
    let step = RowAddresses {
        kind,
        rows: function.ty(rows).lanes(),
        columns: *columns,
        bytes: bytes as i64,
    };
    operands.push(widened(lower, function, column));
    operands.push(lower.slot(rows));
    let lanes = (step.rows * step.columns) as u32;
    let pointers = lower.temp(Kind::Ptr, lanes);
    let mask = lower.temp(Kind::Bool, lanes);
    lower.emit(step, operands, vec![pointers, mask], lanes);
    Ok(Block {
        pointers,
        mask,
        padding,
        lanes,
    })
}

fn load_block(lower: &mut Lower<'_>, function: &Function, op: OpId, block: &Block) -> Result<()> {
    let result = function.ops[op].results[0];
    fits(lower, function, op, result, block)?;
    let step = Load {
        kind: lower.kind(function, result),
        volatile: false,
        quiet: true,
    };
    let out = lower.result(function, op)?;
    let ins = vec![block.pointers, block.mask, block.padding];
    lower.emit(step, ins, vec![out], block.lanes);
    Ok(())
}

fn store_block(
    lower: &mut Lower<'_>,
    function: &Function,
    op: OpId,
    block: &Block,
    value: ValueId,
) -> Result<()> {
    fits(lower, function, op, value, block)?;
    let step = Store {
        kind: lower.kind(function, value),
        masked: true,
    };
    let ins = vec![block.pointers, block.mask, lower.slot(value)];
    lower.emit(step, ins, vec![], block.lanes);
    Ok(())
}

/// A tile and its block have the same number of lanes, if not the same rank.
fn fits(lower: &Lower<'_>, function: &Function, op: OpId, value: ValueId, block: &Block) -> Result<()> {
    let ty = function.ty(value);
    match ty.lanes() == block.lanes as usize {
        true => Ok(()),
        false => Err(lower.wrong(
            function,
            op,
            format!("{ty} for a block of {} elements", block.lanes),
        )),
    }
}

/// `tt.load` of a block pointer.
pub fn load(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let block = pointed(lower, function, op)?;
    load_block(lower, function, op, &block)
}

/// `tt.store` of a block pointer.
pub fn store(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let block = pointed(lower, function, op)?;
    store_block(lower, function, op, &block, function.ops[op].operands[1])
}

/// `tt.descriptor_load`: descriptor, then one offset per dimension.
pub fn descriptor_load(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let block = located(lower, function, op, &function.ops[op].operands[1..])?;
    load_block(lower, function, op, &block)
}

/// `tt.descriptor_store`: descriptor, the block, then one offset per dimension.
pub fn descriptor_store(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let operands = &function.ops[op].operands;
    let block = located(lower, function, op, &operands[2..])?;
    store_block(lower, function, op, &block, operands[1])
}

/// `tt.descriptor_gather`: descriptor, the rows, the first column.
pub fn descriptor_gather(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let operands = &function.ops[op].operands;
    let block = rows(lower, function, op, operands[1], operands[2])?;
    load_block(lower, function, op, &block)
}

/// `tt.descriptor_scatter`: descriptor, the rows, the first column, the tile. Of equal rows the last stays.
pub fn descriptor_scatter(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let operands = &function.ops[op].operands;
    let block = rows(lower, function, op, operands[1], operands[2])?;
    store_block(lower, function, op, &block, operands[3])
}

/// `tt.descriptor_reduce`: descriptor, the block, then one offset per dimension. Integers without a sign in
/// the descriptor's type are signed.
pub fn descriptor_reduce(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let value = data.operands[1];
    let elem = lower.kind(function, value);
    let signed = match function.ty(data.operands[0]) {
        Type::Descriptor { signed, .. } => signed.unwrap_or(true),
        _ => true,
    };
    let found = match data.attrs {
        Attrs::DescriptorReduce(kind) => reduction(kind, elem, signed),
        _ => None,
    };
    let Some((update, commuting)) = found else {
        let what = format!("this {} of {} is not run", data.code, function.ty(value));
        return Err(lower.unsupported(function, op, what));
    };
    match commuting {
        Some(kind) => order::need_to_commute(lower, function, op, kind),
        None => order::need_order(lower, function, op),
    }
    let block = located(lower, function, op, &data.operands[2..])?;
    fits(lower, function, op, value, &block)?;
    let step = Modify {
        update,
        elem,
        waits: false,
        reads: true,
        orders: Orders::RELAXED,
    };
    let ins = vec![block.pointers, lower.slot(value), block.mask];
    lower.emit(step, ins, vec![], block.lanes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_agree_with_the_walk_over_lanes() {
        let step = BlockAddresses {
            block: vec![2, 4, 8],
            checked: vec![true; 3],
            bytes: 4,
        };
        let (strides, offsets) = ([100, -9, 1], [3, -2, 5]);
        let sum = step.sum(1 << 46, &strides, &offsets).expect("fits");
        for lane in 0..64 {
            let want = step.address(1 << 46, &strides, &offsets, lane);
            assert_eq!(sum.at(lane, &[]) as u64, want, "{lane}");
        }
        assert_eq!(step.sum(i64::MAX - 3, &strides, &offsets), None);
    }

    #[test]
    fn what_is_inside() {
        assert_eq!(inside(0, 10, 8), (0, 8));
        assert_eq!(inside(4, 10, 8), (0, 6));
        assert_eq!(inside(-3, 10, 8), (3, 8));
        assert_eq!(inside(-3, 2, 8), (3, 5));
        assert_eq!(inside(10, 10, 8), (0, 0));
        assert_eq!(inside(-9, 10, 8), (8, 8));
        assert_eq!(inside(i64::MIN, i64::MAX, 8), (8, 8));
        assert_eq!(inside(i64::MAX, i64::MIN, 8), (0, 0));
    }
}
