//! `tt.dot_scaled`: matrix products of operands with a scale per group of elements along k (the MX formats).
//!
//! An operand's elements are e4m3, e5m2, e2m1 (two per byte, the lower half first, neighbours along k or
//! along the other dimension), bf16 or f16. A scale is an E8M0 byte (2^(s − 127), NaN for 255) for every 32
//! elements along k, or an e4m3 number for every 16 (NVFP4); either may be missing. Elements are multiplied
//! by their scales in f32, which is exact but at the ends of its range, and the product is that of
//! `tt.dot` ([`super::dot`]). GPUs without the instruction round the scaled elements to bf16 instead.
//! e2m3 and e3m2 are refused, as Triton does.

use crate::frame::{Frame, Slot, Tile};
use crate::kind::{Kind, Lane};
use crate::lower::Lower;
use crate::machine::{Flow, Machine, Stop};
use crate::num::CANONICAL_NAN;
use crate::num::dot::DotShape;
use crate::num::float::{Bf16, F8E4M3, F8E5M2, F16, StoredFloat};
use crate::simd::Cpu;
use crate::steps::dot::{Batch, Places, accumulate_f32, is_accumulator, with_room};
use crate::taint::Births;
use crate::tape::{Inst, Step};
use crate::with_width;
use tilescope_diagnostics::Result;
use tilescope_ir::attrs::ScaleElem;
use tilescope_ir::{Attrs, Function, OpId, Shape, ValueId};

/// Values of e2m1 without sign.
const E2M1: [f32; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];

/// One operand: how its lanes become f32 elements.
#[derive(Debug, Clone, Copy)]
struct Operand {
    elem: ScaleElem,
    /// Kind of the lanes.
    kind: Kind,
    /// Matrices, rows and columns in elements.
    count: usize,
    rows: usize,
    columns: usize,
    /// Elements per lane along (rows, columns).
    packed: (usize, usize),
    /// k runs along the columns (a) or the rows (b).
    k_is_column: bool,
    /// Its scale: which operand of the instruction, kind, elements per scale.
    scale: Option<(usize, Kind, usize)>,
}

impl Operand {
    fn elements(self) -> usize {
        self.count * self.rows * self.columns
    }

    /// Lane and part of it that hold an element.
    fn lane(self, element: usize) -> (usize, usize) {
        let (row, column) = (element / self.columns, element % self.columns);
        let columns = self.columns / self.packed.1;
        let lane = row / self.packed.0 * columns + column / self.packed.1;
        (lane, row % self.packed.0 + column % self.packed.1)
    }

    /// The scale's lane of an element: scales are (batch, m or n, k / group).
    fn scale_lane(self, element: usize, group: usize) -> usize {
        let (row, column) = (element / self.columns, element % self.columns);
        let (matrix, row) = (row / self.rows, row % self.rows);
        let (k, other) = if self.k_is_column {
            (column, row)
        } else {
            (row, column)
        };
        let (k_size, others) = match self.k_is_column {
            true => (self.columns, self.rows),
            false => (self.rows, self.columns),
        };
        (matrix * others + other) * (k_size / group) + k / group
    }

    fn decode(self, bits: u64, part: usize) -> f32 {
        match self.elem {
            ScaleElem::E4M3 => F8E4M3(bits as u8).to_f32(),
            ScaleElem::E5M2 => F8E5M2(bits as u8).to_f32(),
            ScaleElem::Bf16 => Bf16(bits as u16).to_f32(),
            ScaleElem::Fp16 => F16(bits as u16).to_f32(),
            _ => {
                let nibble = bits >> (4 * part);
                let magnitude = E2M1[nibble as usize & 7];
                if nibble & 8 == 0 { magnitude } else { -magnitude }
            }
        }
    }

    /// Writes the scaled elements to a slot.
    fn prepare(self, frame: &mut Frame, from: Slot, ins: &[Slot], to: Slot) {
        let lanes = self.elements();
        let mut buffer = frame.take::<f32>(to, lanes);
        let out = buffer.lanes::<f32>(lanes);
        let stored = lanes / (self.packed.0 * self.packed.1);
        with_width!(self.kind, T => {
            let tile = frame.tile::<T>(from, stored);
            for (element, out) in out.iter_mut().enumerate() {
                let (lane, part) = self.lane(element);
                *out = self.decode(tile.lane(lane).to_bits(), part);
            }
        });
        if let Some((operand, kind, group)) = self.scale {
            let tile: Tile<'_, u8> = frame.tile(ins[operand], lanes / group);
            for (element, out) in out.iter_mut().enumerate() {
                let scale = scale(kind, tile.lane(self.scale_lane(element, group)));
                let scaled = *out * scale;
                *out = if scaled.is_nan() { CANONICAL_NAN } else { scaled };
            }
        }
        frame.put(to, buffer);
    }

    /// Births of the elements: of the stored lane, else of the scale.
    fn births(self, machine: &Machine<'_>, inst: &Inst, from: Slot) -> Option<Births> {
        let own = machine.taint.get(from);
        let of_scale = self
            .scale
            .and_then(|(operand, _, group)| Some((machine.taint.get(inst.ins[operand])?, group)));
        if own.is_none() && of_scale.is_none() {
            return None;
        }
        let lane = |element| {
            let own = own.map_or(0, |b| b.lane(self.lane(element).0));
            match (own, of_scale) {
                (0, Some((births, group))) => births.lane(self.scale_lane(element, group)),
                _ => own,
            }
        };
        Some(Births::Dense((0..self.elements()).map(lane).collect()))
    }
}

/// The value of a scale.
fn scale(kind: Kind, bits: u8) -> f32 {
    match (kind, bits) {
        (Kind::F8E4M3, _) => F8E4M3(bits).to_f32(),
        (_, 255) => f32::NAN,
        (_, 0) => f32::from_bits(1 << 22),
        _ => f32::from_bits(u32::from(bits) << 23),
    }
}

/// `tt.dot_scaled`.
#[derive(Debug)]
struct DotScaled {
    a: Operand,
    b: Operand,
    batch: Batch,
    c: Kind,
    cpu: Cpu,
}

impl Step for DotScaled {
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let frame = &mut machine.frame;
        let wide = [inst.outs[2], inst.outs[3]];
        self.a.prepare(frame, inst.ins[0], &inst.ins, wide[0]);
        self.b.prepare(frame, inst.ins[1], &inst.ins, wide[1]);
        accumulate_f32(frame, self.cpu, self.batch, self.c, wide, Places::of(inst));
        Ok(Flow::Next)
    }

    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        let a = self.a.births(machine, inst, inst.ins[0]);
        let b = self.b.births(machine, inst, inst.ins[1]);
        let c = machine.taint.get(inst.ins[2]);
        let births = self.batch.births(a.as_ref(), b.as_ref(), c);
        machine.taint.set(inst.outs[0], births);
    }
}

/// `tt.dot_scaled`: a, b, c, then the scales that there are.
pub fn dot_scaled(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let Attrs::DotScaled(attrs) = &data.attrs else {
        return Err(lower.wrong(function, op, "a scaled dot without element kinds"));
    };
    let scales = usize::from(attrs.a_scale) + usize::from(attrs.b_scale);
    if data.operands.len() != 3 + scales {
        let what = format!("a scaled dot with {scales} scales needs {} operands", 3 + scales);
        return Err(lower.wrong(function, op, what));
    }
    let a_scale = attrs.a_scale.then_some(3);
    let b_scale = attrs.b_scale.then_some(3 + usize::from(attrs.a_scale));
    let a = operand(lower, function, op, 0, (attrs.a, attrs.lhs_k_pack, a_scale))?;
    let b = operand(lower, function, op, 1, (attrs.b, attrs.rhs_k_pack, b_scale))?;
    let c = lower.kind(function, data.operands[2]);
    let c_shape = shape(function, data.operands[2]);
    let batch = Batch {
        count: a.count,
        shape: DotShape {
            m: a.rows,
            n: b.columns,
            k: a.columns,
        },
    };
    let rank = c_shape.rank();
    let count = if rank == 3 { c_shape.dim(0) } else { 1 };
    let c_fits = (2..=3).contains(&rank)
        && (count, c_shape.dim(rank - 2), c_shape.dim(rank - 1)) == (a.count, a.rows, b.columns);
    if !c_fits || a.columns != b.rows || a.count != b.count {
        return Err(lower.wrong(function, op, "the shapes of a scaled dot do not fit"));
    }
    if !is_accumulator(c) {
        let ty = function.ty(data.operands[2]);
        return Err(lower.unsupported(function, op, format!("a scaled dot added to {ty} is not run")));
    }
    let ins = lower.operands(data);
    let out = lower.result(function, op)?;
    let outs = with_room(lower, out, batch, Kind::F32);
    let cpu = lower.cpu();
    lower.emit(
        DotScaled { a, b, batch, c, cpu },
        ins,
        outs,
        batch.lanes()[2] as u32,
    );
    Ok(())
}

fn shape(function: &Function, value: ValueId) -> Shape {
    function.ty(value).shape().unwrap_or_default()
}

/// Operand `index` (0 or 1) with (element, packed along k, operand number of its scale).
fn operand(
    lower: &Lower<'_>,
    function: &Function,
    op: OpId,
    index: usize,
    (elem, k_pack, scale): (ScaleElem, bool, Option<usize>),
) -> Result<Operand> {
    let data = &function.ops[op];
    let value = data.operands[index];
    let (stored, kind, ty) = (
        shape(function, value),
        lower.kind(function, value),
        function.ty(value),
    );
    let (bytes, per_lane) = match elem {
        ScaleElem::E4M3 | ScaleElem::E5M2 => (1, 1),
        ScaleElem::Bf16 | ScaleElem::Fp16 => (2, 1),
        ScaleElem::E2M1 => (1, 2),
        ScaleElem::E2M3 | ScaleElem::E3M2 => {
            let what = format!("a scaled dot of {} elements is not run", elem.as_str());
            return Err(lower.unsupported(function, op, what));
        }
    };
    let rank = stored.rank();
    if !(2..=3).contains(&rank) || kind.bytes() != bytes {
        let what = format!("{} elements of a scaled dot cannot be {ty}", elem.as_str());
        return Err(lower.wrong(function, op, what));
    }
    let k_is_column = index == 0;
    let packed = if k_pack == k_is_column {
        (1, per_lane)
    } else {
        (per_lane, 1)
    };
    let mut operand = Operand {
        elem,
        kind,
        count: if rank == 3 { stored.dim(0) } else { 1 },
        rows: stored.dim(rank - 2) * packed.0,
        columns: stored.dim(rank - 1) * packed.1,
        packed,
        k_is_column,
        scale: None,
    };
    if let Some(number) = scale {
        let value = data.operands[number];
        let (scales, kind) = (shape(function, value), lower.kind(function, value));
        let (k, others) = match k_is_column {
            true => (operand.columns, operand.rows),
            false => (operand.rows, operand.columns),
        };
        let groups = scales.dim(scales.rank().saturating_sub(1));
        let fits =
            scales.rank() == rank && scales.elements() == operand.count * others * groups && groups <= k;
        if !fits {
            let what = format!("a scale of shape {scales:?} does not fit {ty}");
            return Err(lower.wrong(function, op, what));
        }
        if !matches!((kind, k / groups), (Kind::I8, 32) | (Kind::F8E4M3, 16 | 32)) {
            let what = format!(
                "one {} scale for {} elements is not run",
                function.ty(value),
                k / groups
            );
            return Err(lower.unsupported(function, op, what));
        }
        operand.scale = Some((number, kind, k / groups));
    }
    Ok(operand)
}
