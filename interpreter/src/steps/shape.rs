//! Operations that move lanes about: broadcast, transpose, join, split, concatenation, gather.
//!
//! Each is a rearrangement, written once for any lane type; values, tensors of pointers and births of
//! undefined lanes all go through it.

use crate::exact;
use crate::forms::Sum;
use crate::frame::{Provenance, Slot, Tile};
use crate::kind::{Kind, Lane};
use crate::lower::Lower;
use crate::machine::{Flow, Machine, Stop};
use crate::optimise::formula::Rule;
use crate::simd::FlatLoop;
use crate::steps::symbolic;
use crate::taint::{self, Births};
use crate::tape::{Inst, Step};
use crate::with_width;
use tilescope_diagnostics::Result;
use tilescope_ir::{Attrs, Function, OpId, Shape};

/// How a rearrangement fills one result from its operands.
trait Rearrange: std::fmt::Debug + Send + Sync {
    /// Fills `out` (row-major) from the operands' lanes. `index` reads the lanes of an index operand.
    fn fill<T: Lane>(&self, ins: &[Tile<'_, T>], result: usize, out: &mut [T]);
}

/// A rearrangement as a step: all operands and results hold lanes of one kind.
#[derive(Debug)]
struct Moved<R> {
    kind: Kind,
    /// Lanes of each operand.
    from: Vec<usize>,
    how: R,
}

impl<R: Rearrange> Moved<R> {
    fn run_as<T: Lane>(&self, inst: &Inst, machine: &mut Machine<'_>) {
        let lanes = inst.lanes(machine);
        let frame = &mut machine.frame;
        let bits = frame.uniform(inst.ins[0]);
        if bits.is_some() && inst.ins.iter().all(|&s| frame.uniform(s) == bits) {
            for &out in &inst.outs {
                frame.set_uniform(out, bits.unwrap_or(0));
            }
            return;
        }
        for (i, &out) in inst.outs.iter().enumerate() {
            let mut buffer = frame.take::<T>(out, lanes);
            let tiles: Vec<Tile<'_, T>> = inst
                .ins
                .iter()
                .zip(&self.from)
                .map(|(&s, &n)| frame.tile::<T>(s, n))
                .collect();
            self.how.fill(&tiles, i, buffer.lanes::<T>(lanes));
            frame.put(out, buffer);
            if lanes == 1 {
                let bits = frame.scalar::<T>(out).to_bits();
                frame.set_uniform(out, bits);
            }
        }
    }

    fn provenance(&self, inst: &Inst, machine: &mut Machine<'_>) {
        let frame = &mut machine.frame;
        let first = frame.provenance(inst.ins[0]).clone();
        let uniform = matches!(first, Provenance::Uniform(_))
            && inst.ins.iter().all(|&s| *frame.provenance(s) == first);
        for (i, &out) in inst.outs.iter().enumerate() {
            if uniform {
                frame.set_provenance(out, first.clone());
                continue;
            }
            let mut lanes = vec![0u32; inst.lanes as usize];
            let tiles: Vec<Tile<'_, u32>> = inst
                .ins
                .iter()
                .map(|&s| match frame.provenance(s) {
                    Provenance::Uniform(t) => Tile::Uniform(*t),
                    Provenance::Dense(lanes) => Tile::Dense(lanes),
                })
                .collect();
            self.how.fill(&tiles, i, &mut lanes);
            frame.set_provenance(out, Provenance::Dense(lanes));
        }
    }
}

impl<R: Rearrange> Step for Moved<R> {
    fn is_pure(&self, _: &[Option<u64>]) -> bool {
        true
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        with_width!(self.kind, T => self.run_as::<T>(inst, machine));
        if self.kind == Kind::Ptr {
            self.provenance(inst, machine);
        }
        Ok(Flow::Next)
    }

    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        for (i, &out) in inst.outs.iter().enumerate() {
            let births = moved_births(&inst.ins, machine, |tiles| {
                let mut lanes = vec![0u32; inst.lanes(machine)];
                self.how.fill(tiles, i, &mut lanes);
                lanes
            });
            machine.taint.set(out, births);
        }
    }

    fn exact(&self, inst: &Inst, machine: &mut Machine<'_>) {
        for (i, &out) in inst.outs.iter().enumerate() {
            let lanes = inst.lanes(machine);
            exact::moved(&inst.ins, out, machine, |numbered| {
                let tiles: Vec<Tile<'_, u32>> = numbered
                    .iter()
                    .map(|numbers| match numbers.as_deref() {
                        None => Tile::Uniform(0),
                        Some(&[one]) => Tile::Uniform(one),
                        Some(numbers) => Tile::Dense(numbers),
                    })
                    .collect();
                let mut result = vec![0u32; lanes];
                self.how.fill(&tiles, i, &mut result);
                result
            });
        }
    }
}

/// Births of the operands, rearranged; none if all lanes are defined.
fn moved_births(
    ins: &[Slot],
    machine: &Machine<'_>,
    fill: impl FnOnce(&[Tile<'_, u32>]) -> Vec<u32>,
) -> Option<Births> {
    ins.iter().find_map(|&s| machine.taint.get(s))?;
    let tiles: Vec<Tile<'_, u32>> = ins
        .iter()
        .map(|&s| match machine.taint.get(s) {
            None => Tile::Uniform(0),
            Some(Births::Uniform(birth)) => Tile::Uniform(*birth),
            Some(Births::Dense(lanes)) => Tile::Dense(lanes),
        })
        .collect();
    Some(Births::Dense(fill(&tiles)))
}

/// Result lane (i, j, …) is operand lane i·s0 + j·s1 + …
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strided {
    /// (size, operand stride), outermost first; neighbours that go on evenly are one.
    dims: Vec<(usize, usize)>,
}

impl Strided {
    /// A walk over `sizes` with these operand strides.
    pub fn new(sizes: impl Iterator<Item = usize>, strides: impl Iterator<Item = usize>) -> Strided {
        let mut dims: Vec<(usize, usize)> = Vec::new();
        for (size, stride) in sizes.zip(strides).filter(|d| d.0 != 1) {
            match dims.last_mut() {
                Some(last) if last.1 == size * stride => *last = (last.0 * size, stride),
                _ => dims.push((size, stride)),
            }
        }
        Strided { dims }
    }

    /// Fills `out` from `from`.
    pub fn copy<T: Copy>(&self, from: &[T], out: &mut [T]) {
        Strided::walk(&self.dims, from, 0, out);
    }

    /// Fills `out` with the lanes from number `first` on.
    pub fn copy_part<T: Copy>(&self, first: usize, from: &[T], out: &mut [T]) {
        let Some((&(size, stride), outer)) = self.dims.split_last() else {
            return out.fill(from[0]);
        };
        let (mut lane, mut rest) = (first, out);
        while !rest.is_empty() {
            let (mut row, column) = (lane / size, lane % size);
            let mut start = column * stride;
            for &(size, stride) in outer.iter().rev() {
                start += row % size * stride;
                row /= size;
            }
            let count = rest.len().min(size - column);
            let (part, others) = rest.split_at_mut(count);
            Strided::walk(&[(count, stride)], from, start, part);
            lane += count;
            rest = others;
        }
    }

    fn walk<T: Copy>(dims: &[(usize, usize)], from: &[T], start: usize, out: &mut [T]) {
        match dims {
            [] => out.fill(from[start]),
            [(_, 0)] => out.fill(from[start]),
            [(_, 1)] => out.copy_from_slice(&from[start..start + out.len()]),
            [(_, stride)] => {
                for (o, x) in out.iter_mut().zip(from[start..].iter().step_by(*stride)) {
                    *o = *x;
                }
            }
            [(size, 0), inner @ ..] => {
                let row = out.len() / size;
                let (first, rest) = out.split_at_mut(row);
                Strided::walk(inner, from, start, first);
                for chunk in rest.chunks_exact_mut(row) {
                    chunk.copy_from_slice(first);
                }
            }
            [(size, stride), inner @ ..] => {
                let row = out.len() / size;
                for (i, chunk) in out.chunks_exact_mut(row).enumerate() {
                    Strided::walk(inner, from, start + i * stride, chunk);
                }
            }
        }
    }
}

impl Rearrange for Strided {
    fn fill<T: Lane>(&self, ins: &[Tile<'_, T>], _: usize, out: &mut [T]) {
        match ins[0] {
            Tile::Uniform(value) => out.fill(value),
            Tile::Dense(from) => self.copy(from, out),
        }
    }
}

/// `tt.broadcast`: of a formula, a formula.
#[derive(Debug)]
struct Broadcast {
    lanes: Moved<Strided>,
    /// Logarithms of sizes, outermost first; true for dimensions that the operand has.
    keep: Vec<(u8, bool)>,
}

impl Broadcast {
    /// Rows of one lane each, with the CPU's vectors; false if it is something else, and nothing was done.
    fn run_rows(&self, inst: &Inst, machine: &mut Machine<'_>) -> bool {
        let (kind, lanes, cpu) = (self.lanes.kind, inst.lanes as usize, machine.context.cpu);
        let ([(rows, 1), (width, 0)], false) = (&self.lanes.how.dims[..], kind == Kind::Ptr) else {
            return false;
        };
        let frame = &mut machine.frame;
        if frame.uniform(inst.ins[0]).is_some() {
            return false;
        }
        with_width!(kind, T => {
            let mut buffer = frame.take::<T>(inst.outs[0], lanes);
            if let Tile::Dense(from) = frame.tile::<T>(inst.ins[0], *rows) {
                let (out, width) = (buffer.lanes(lanes), *width);
                cpu.run(Rows { from, out, width });
            }
            frame.put(inst.outs[0], buffer);
        });
        true
    }

    /// The lanes of a block of a chain.
    fn run_block(&self, inst: &Inst, machine: &mut Machine<'_>) {
        let (lanes, first, frame) = (machine.batch, machine.first, &mut machine.frame);
        with_width!(self.lanes.kind, T => {
            if let Some(bits) = frame.uniform(inst.ins[0]) {
                frame.set_uniform(inst.outs[0], bits);
                return;
            }
            let mut buffer = frame.take::<T>(inst.outs[0], lanes);
            if let Tile::Dense(from) = frame.tile::<T>(inst.ins[0], self.lanes.from[0]) {
                self.lanes.how.copy_part(first, from, buffer.lanes(lanes));
            }
            frame.put(inst.outs[0], buffer);
        });
    }
}

/// Each lane repeated along a row of the result.
struct Rows<'a, T> {
    from: &'a [T],
    out: &'a mut [T],
    width: usize,
}

impl<T: Copy> FlatLoop for Rows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (row, x) in self.out.chunks_exact_mut(self.width).zip(self.from) {
            for lane in row {
                *lane = *x;
            }
        }
    }
}

impl Step for Broadcast {
    fn rule(&self) -> Option<Rule<'_>> {
        Some(Rule::Broadcast(&self.keep))
    }

    fn spreads(&self) -> bool {
        self.lanes.kind.is_float()
    }

    fn is_pure(&self, _: &[Option<u64>]) -> bool {
        true
    }

    fn may_give_forms(&self) -> bool {
        true
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        if inst.lanes == 0 {
            self.run_block(inst, machine);
            return Ok(Flow::Next);
        }
        if symbolic::broadcast(&self.keep, self.lanes.kind, inst, machine) {
            if self.lanes.kind == Kind::Ptr {
                self.lanes.provenance(inst, machine);
            }
            return Ok(Flow::Next);
        }
        symbolic::flatten(inst, machine);
        if !self.run_rows(inst, machine) {
            return self.lanes.run(inst, machine);
        }
        Ok(Flow::Next)
    }

    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        self.lanes.taint(inst, machine);
    }

    fn exact(&self, inst: &Inst, machine: &mut Machine<'_>) {
        self.lanes.exact(inst, machine);
    }

    fn reads_forms(&self) -> bool {
        true
    }
}

/// Two tiles along a new last dimension.
#[derive(Debug)]
struct Interleaved;

impl Rearrange for Interleaved {
    fn fill<T: Lane>(&self, ins: &[Tile<'_, T>], _: usize, out: &mut [T]) {
        for (i, pair) in out.chunks_exact_mut(2).enumerate() {
            pair.copy_from_slice(&[ins[0].lane(i), ins[1].lane(i)]);
        }
    }
}

/// Every second lane, from the result's number on.
#[derive(Debug)]
struct Halves;

impl Rearrange for Halves {
    fn fill<T: Lane>(&self, ins: &[Tile<'_, T>], result: usize, out: &mut [T]) {
        for (i, o) in out.iter_mut().enumerate() {
            *o = ins[0].lane(2 * i + result);
        }
    }
}

/// One tile after the other.
#[derive(Debug)]
struct Joined;

impl Rearrange for Joined {
    fn fill<T: Lane>(&self, ins: &[Tile<'_, T>], _: usize, out: &mut [T]) {
        let half = out.len() / 2;
        for (tile, part) in ins.iter().zip(out.chunks_exact_mut(half.max(1))) {
            match tile {
                Tile::Uniform(value) => part.fill(*value),
                Tile::Dense(lanes) => part.copy_from_slice(&lanes[..half]),
            }
        }
    }
}

/// `tt.make_range`.
#[derive(Debug)]
struct Range {
    start: i32,
}

impl Step for Range {
    fn rule(&self) -> Option<Rule<'_>> {
        Some(Rule::Range(i64::from(self.start)))
    }

    fn is_pure(&self, _: &[Option<u64>]) -> bool {
        true
    }

    fn may_give_forms(&self) -> bool {
        true
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let start = self.start;
        if inst.lanes > 1
            && let Some(sum) = Sum::range(i64::from(start), inst.lanes.trailing_zeros() as u8)
            && sum.fits(32)
        {
            machine.frame.set_sum(inst.outs[0], sum, 4, |_, _| {});
            return Ok(Flow::Next);
        }
        machine
            .frame
            .fill::<u32>(inst.outs[0], inst.lanes as usize, |_, i| {
                start.wrapping_add(i as i32) as u32
            });
        Ok(Flow::Next)
    }
}

/// `tt.splat`, `tt.unsplat`: a one-lane value is uniform in any shape.
#[derive(Debug)]
struct Repeat {
    kind: Kind,
}

impl Step for Repeat {
    fn rule(&self) -> Option<Rule<'_>> {
        Some(Rule::Splat)
    }

    fn is_pure(&self, _: &[Option<u64>]) -> bool {
        true
    }

    fn is_splat(&self) -> bool {
        true
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        machine
            .frame
            .copy_form(inst.ins[0], inst.outs[0], self.kind.bytes());
        Ok(Flow::Next)
    }

    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        let births = machine.taint.get(inst.ins[0]).map(|b| Births::Uniform(b.lane(0)));
        machine.taint.set(inst.outs[0], births);
    }

    fn exact(&self, inst: &Inst, machine: &mut Machine<'_>) {
        exact::copied(inst, machine, |_| false);
    }
}

/// `tt.gather`.
#[derive(Debug)]
struct Gather {
    kind: Kind,
    index: Kind,
    outer: usize,
    /// Elements along the axis: of the source, of the index.
    axis: (usize, usize),
    inner: usize,
}

impl Gather {
    /// Source lane of each result lane; none where the index is outside the axis.
    fn sources(&self, inst: &Inst, machine: &Machine<'_>) -> Vec<Option<usize>> {
        let lanes = inst.lanes as usize;
        let index = |lane: usize| match self.index {
            Kind::I64 => machine.frame.tile::<u64>(inst.ins[1], lanes).lane(lane) as i64,
            Kind::I32 => i64::from(machine.frame.tile::<u32>(inst.ins[1], lanes).lane(lane) as i32),
            Kind::I16 => i64::from(machine.frame.tile::<u16>(inst.ins[1], lanes).lane(lane) as i16),
            _ => i64::from(machine.frame.tile::<u8>(inst.ins[1], lanes).lane(lane) as i8),
        };
        (0..lanes)
            .map(|lane| {
                let (row, inner) = (lane / self.inner / self.axis.1, lane % self.inner);
                let at = usize::try_from(index(lane)).ok().filter(|&i| i < self.axis.0)?;
                Some((row * self.axis.0 + at) * self.inner + inner)
            })
            .collect()
    }
}

impl Step for Gather {
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let sources = self.sources(inst, machine);
        let lanes = self.outer * self.axis.0 * self.inner;
        with_width!(self.kind, T => machine.frame.fill::<T>(inst.outs[0], sources.len(), |frame, i| {
            sources[i].map_or(0, |s| frame.tile::<T>(inst.ins[0], lanes).lane(s))
        }));
        Ok(Flow::Next)
    }

    /// By the index, and by the lane picked.
    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        if taint::combine(&inst.ins, machine, 1).is_none() {
            machine.taint.set(inst.outs[0], None);
            return;
        }
        let sources = self.sources(inst, machine);
        let birth = |operand: usize, lane| machine.taint.get(inst.ins[operand]).map_or(0, |b| b.lane(lane));
        let lane = |(i, source): (usize, &Option<usize>)| match birth(1, i) {
            0 => source.map_or(0, |s| birth(0, s)),
            of_index => of_index,
        };
        let births = Births::Dense(sources.iter().enumerate().map(lane).collect());
        machine.taint.set(inst.outs[0], Some(births));
    }
}

/// `tt.make_range`.
pub fn make_range(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let Attrs::Range { start, .. } = function.ops[op].attrs else {
        return Err(lower.unsupported(function, op, "a range without bounds"));
    };
    let out = lower.result(function, op)?;
    let lanes = lower.lanes(function, function.ops[op].results[0]);
    lower.emit(Range { start }, vec![], vec![out], lanes);
    Ok(())
}

/// `tt.splat`.
pub fn splat(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    if lower.in_region() {
        return Err(lower.unsupported(
            function,
            op,
            "tiles in the region of a reduce, scan or map are not run",
        ));
    }
    let data = &function.ops[op];
    let kind = lower.kind(function, data.operands[0]);
    let ins = lower.operands(data);
    let out = lower.result(function, op)?;
    let lanes = lower.lanes(function, data.results[0]);
    lower.emit(Repeat { kind }, ins, vec![out], lanes);
    Ok(())
}

/// `tt.unsplat`: a tile of one element is uniform already.
pub fn unsplat(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    rename(lower, function, op)
}

/// `tt.expand_dims`, `tt.reshape`: the same lanes in the same order.
pub fn rename(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let slots = lower.slots(data.operands[0]).to_vec();
    lower.alias(data.results[0], slots);
    Ok(())
}

/// Shapes of the first operand and the first result; a scalar has none.
fn shapes(function: &Function, op: OpId) -> (Shape, Shape) {
    let data = &function.ops[op];
    let shape = |v| function.ty(v).shape().unwrap_or_default();
    (shape(data.operands[0]), shape(data.results[0]))
}

fn emit<R: Rearrange + 'static>(lower: &mut Lower<'_>, function: &Function, op: OpId, how: R) -> Result<()> {
    let data = &function.ops[op];
    let kind = lower.kind(function, data.operands[0]);
    let ins = lower.operands(data);
    let from = data.operands.iter().map(|&v| function.ty(v).lanes()).collect();
    let mut outs = Vec::new();
    for &result in &data.results {
        outs.extend(lower.define(function, result)?);
    }
    let lanes = lower.lanes(function, data.results[0]);
    lower.emit(Moved { kind, from, how }, ins, outs, lanes);
    Ok(())
}

/// `tt.broadcast`.
pub fn broadcast(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let (from, to) = shapes(function, op);
    let strides = from.strides();
    let strides = (0..to.rank()).map(|axis| if from.dim(axis) == 1 { 0 } else { strides[axis] });
    let how = Strided::new(to.dims(), strides);
    let keep = (0..to.rank())
        .map(|axis| {
            (
                to.dim(axis).trailing_zeros() as u8,
                from.dim(axis) == to.dim(axis),
            )
        })
        .collect();
    let data = &function.ops[op];
    let kind = lower.kind(function, data.operands[0]);
    let lanes = Moved {
        kind,
        from: vec![from.elements()],
        how,
    };
    let ins = lower.operands(data);
    let out = lower.result(function, op)?;
    lower.emit(Broadcast { lanes, keep }, ins, vec![out], to.elements() as u32);
    Ok(())
}

/// `tt.trans`.
pub fn trans(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let (from, to) = shapes(function, op);
    let Attrs::Order(order) = &function.ops[op].attrs else {
        return Err(lower.unsupported(function, op, "a transpose without order"));
    };
    let strides = from.strides();
    let how = Strided::new(to.dims(), order.iter().map(|&axis| strides[axis as usize]));
    emit(lower, function, op, how)
}

/// `tt.join`.
pub fn join(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    emit(lower, function, op, Interleaved)
}

/// `tt.split`.
pub fn split(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    emit(lower, function, op, Halves)
}

/// `tt.cat`.
pub fn cat(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    emit(lower, function, op, Joined)
}

/// `tt.gather`.
pub fn gather(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let Attrs::Gather { axis, .. } = data.attrs else {
        return Err(lower.unsupported(function, op, "a gather without axis"));
    };
    let axis = axis as usize;
    let (from, to) = shapes(function, op);
    let step = Gather {
        kind: lower.kind(function, data.operands[0]),
        index: lower.kind(function, data.operands[1]),
        outer: from.dims().take(axis).product(),
        axis: (from.dim(axis), to.dim(axis)),
        inner: from.dims().skip(axis + 1).product(),
    };
    let ins = lower.operands(data);
    let out = lower.result(function, op)?;
    let lanes = lower.lanes(function, data.results[0]);
    lower.emit(step, ins, vec![out], lanes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strided_walks_broadcast_and_transpose() {
        let from: Vec<u32> = (0..6).collect();
        let mut out = [0; 6];
        Strided::new([3, 2].into_iter(), [1, 3].into_iter()).copy(&from, &mut out);
        assert_eq!(out, [0, 3, 1, 4, 2, 5]);
        let mut out = [0; 12];
        Strided::new([2, 2, 3].into_iter(), [0, 3, 1].into_iter()).copy(&from, &mut out);
        assert_eq!(out, [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]);
        let mut out = [0; 4];
        Strided::new([2, 2].into_iter(), [1, 0].into_iter()).copy(&from, &mut out);
        assert_eq!(out, [0, 0, 1, 1]);
        for (sizes, strides) in [
            ([2, 2, 4], [4, 0, 1]),
            ([4, 2, 2], [1, 0, 0]),
            ([2, 2, 4], [0, 0, 2]),
        ] {
            let walk = Strided::new(sizes.into_iter(), strides.into_iter());
            let from: Vec<u32> = (0..8).collect();
            let mut whole = [0; 16];
            walk.copy(&from, &mut whole);
            for first in 0..16 {
                let mut part = vec![0; (16 - first).min(5)];
                walk.copy_part(first, &from, &mut part);
                assert_eq!(part, whole[first..first + part.len()]);
            }
        }
        assert_eq!(
            Strided::new([4, 8].into_iter(), [8, 1].into_iter()).dims,
            [(32, 1)]
        );
    }
}
