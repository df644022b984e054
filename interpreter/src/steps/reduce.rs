//! `tt.reduce`: a dimension combined away.
//!
//! The order is fixed, so that results have the same bits everywhere: element i of the dimension goes into
//! partial i mod 16, in rising order; then the partials are halved, partial j combined with partial
//! j + half, until one is left. A dimension of fewer than 16 elements has as many partials as elements.
//!
//! The tile is (outer, axis, inner), row-major. Any region runs on all of outer × partials × inner lanes
//! at once ([`Region`]). A region that is one operation of its two arguments is a loop of its own
//! ([`super::fold`]), with the same bits; not where undefined lanes are among the operands.

use crate::frame::Slot;
use crate::kind::{Kind, Lane};
use crate::lower::Lower;
use crate::machine::{Flow, Machine, Stop};
use crate::simd::{Cpu, strip};
use crate::steps::fold::{self, Fold};
use crate::steps::region::{Chunks, Region, exchange};
use crate::steps::strip::Link;
use crate::taint::Births;
use crate::tape::{Code, Effect, Inst, Step};
use crate::with_width;
use tilescope_diagnostics::Result;
use tilescope_ir::{Attrs, Function, OpId, ValueId};

/// Most partial results per reduced row.
pub const PARTIALS: usize = 16;

/// A tile seen along one of its dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Along {
    /// Product of the dimensions before.
    pub outer: usize,
    /// Elements of the dimension.
    pub axis: usize,
    /// Product of the dimensions after.
    pub inner: usize,
}

impl Along {
    /// How the operands of a reduce or scan are seen along its dimension; all must have the same shape.
    pub fn of(lower: &Lower<'_>, function: &Function, op: OpId) -> Result<(Along, bool)> {
        let data = &function.ops[op];
        let Attrs::Along { axis, reverse } = data.attrs else {
            return Err(lower.wrong(function, op, format!("{} without a dimension", data.code)));
        };
        let axis = axis as usize;
        let shape = |v: ValueId| function.ty(v).shape();
        let Some(first) = data.operands.first().and_then(|&v| shape(v)) else {
            return Err(lower.wrong(function, op, format!("{} needs a tile", data.code)));
        };
        if axis >= first.rank() || data.operands.iter().any(|&v| shape(v) != Some(first)) {
            let what = format!(
                "the operands of {} must have one shape, with a dimension {axis}",
                data.code
            );
            return Err(lower.wrong(function, op, what));
        }
        let along = Along {
            outer: first.dims().take(axis).product(),
            axis: first.dim(axis),
            inner: first.dims().skip(axis + 1).product(),
        };
        Ok((along, reverse))
    }

    /// Lanes of the tile.
    pub fn lanes(self) -> usize {
        self.outer * self.axis * self.inner
    }

    /// Partial results per row.
    pub fn partials(self) -> usize {
        self.axis.min(PARTIALS)
    }

    /// Elements `first..first + count` of every row.
    pub fn elements(self, first: usize, count: usize) -> Chunks {
        Chunks {
            count: self.outer,
            run: count * self.inner,
            start: first * self.inner,
            stride: self.axis * self.inner,
        }
    }
}

/// `tt.reduce`.
#[derive(Debug)]
struct Reduce {
    along: Along,
    kinds: Vec<Kind>,
    region: Region,
    fold: Option<Fold>,
    /// The same for one row of f32, by strips.
    row: Option<strip::Fold>,
    cpu: Cpu,
}

impl Step for Reduce {
    fn link(&self) -> Option<Link> {
        self.row.map(Link::Fold)
    }

    fn effect(&self) -> Effect {
        Effect::None
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let defined = !machine.taint.is_active() || inst.ins.iter().all(|&s| machine.taint.get(s).is_none());
        match self.fold {
            Some(fold) if defined => {
                (fold.reduce)(
                    &mut machine.frame,
                    self.cpu,
                    self.along,
                    inst.ins[0],
                    inst.outs[0],
                );
                if machine.taint.is_active() {
                    machine.taint.set(inst.outs[0], None);
                }
            }
            _ => self.combine(inst, machine)?,
        }
        Ok(Flow::Next)
    }

    /// The nested instructions carry births.
    fn taint(&self, _: &Inst, _: &mut Machine<'_>) {}

    fn nested(&self) -> Option<&Code> {
        Some(&self.region.code)
    }

    fn nested_mut(&mut self) -> Option<&mut Code> {
        Some(&mut self.region.code)
    }
}

impl Reduce {
    /// Any region, on any operands.
    fn combine(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<(), Stop> {
        // Operands that are uniform make every row and every partial the same: one lane stands for all.
        let is_uniform = |&slot: &Slot| {
            let births = machine.taint.get(slot);
            machine.frame.uniform(slot).is_some() && births.is_none_or(|b| matches!(b, Births::Uniform(_)))
        };
        let uniform = inst.ins.iter().all(is_uniform);
        let along = match uniform {
            true => Along {
                outer: 1,
                inner: 1,
                ..self.along
            },
            false => self.along,
        };
        let (sums, elements) = self.region.code.args.split_at(self.kinds.len());
        let mut partials = along.partials();
        self.stage(machine, along.elements(0, partials), &inst.ins, sums);
        for first in (partials..along.axis).step_by(partials) {
            self.stage(machine, along.elements(first, partials), &inst.ins, elements);
            self.pass(machine, along.outer * partials * along.inner)?;
        }
        while partials > 1 {
            let half = partials / 2;
            let rows = Along {
                axis: partials,
                ..along
            };
            self.stage(machine, rows.elements(half, half), sums, elements);
            if along.outer > 1 {
                // The results' slots are free until the pass: a place to put the lower halves.
                let free = &self.region.code.results;
                self.stage(machine, rows.elements(0, half), sums, free);
                free.iter().zip(sums).for_each(|(&a, &b)| exchange(machine, a, b));
            }
            self.pass(machine, along.outer * half * along.inner)?;
            partials = half;
        }
        machine.at = inst.at;
        for ((&sum, &out), &kind) in sums.iter().zip(&inst.outs).zip(&self.kinds) {
            exchange(machine, sum, out);
            if inst.lanes == 1 || uniform {
                with_width!(kind, T => {
                    let bits = machine.frame.scalar::<T>(out).to_bits();
                    machine.frame.set_uniform(out, bits);
                });
                let birth = machine
                    .taint
                    .get(out)
                    .map(|births| Births::Uniform(births.lane(0)));
                machine.taint.set(out, birth);
            }
        }
        Ok(())
    }

    fn stage(&self, machine: &mut Machine<'_>, chunks: Chunks, from: &[Slot], to: &[Slot]) {
        for ((&from, &to), &kind) in from.iter().zip(to).zip(&self.kinds) {
            chunks.stage(machine, kind, from, to);
        }
    }

    /// sums = region(sums, elements), on `batch` lanes.
    fn pass(&self, machine: &mut Machine<'_>, batch: usize) -> Result<(), Stop> {
        self.region.run(machine, batch)?;
        for (&sum, &result) in self.region.code.args.iter().zip(&self.region.code.results) {
            exchange(machine, sum, result);
        }
        Ok(())
    }
}

/// The kinds of the operands of a reduce or scan, and its region: (sums…, elements…) to sums.
pub fn combining_region(
    lower: &mut Lower<'_>,
    function: &Function,
    op: OpId,
    batch: usize,
) -> Result<(Vec<Kind>, Region)> {
    let data = &function.ops[op];
    let count = data.operands.len();
    let kinds: Vec<Kind> = data.operands.iter().map(|&v| lower.kind(function, v)).collect();
    let region = Region::lower(lower, function, op, batch, (2 * count, count))?;
    let same = |others: &[Kind]| kinds.iter().zip(others).all(|(a, b)| a.bytes() == b.bytes());
    let results: Vec<Kind> = data.results.iter().map(|&v| lower.kind(function, v)).collect();
    let fits = same(&region.args[..count]) && same(&region.args[count..]) && same(&region.results);
    if !fits || results != kinds {
        let what = format!(
            "the operands, region and results of {} must agree in type",
            data.code
        );
        return Err(lower.wrong(function, op, what));
    }
    Ok((kinds, region))
}

/// `tt.reduce`.
pub fn reduce(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let (along, _) = Along::of(lower, function, op)?;
    let batch = along.outer * along.partials() * along.inner;
    let (kinds, region) = combining_region(lower, function, op, batch)?;
    let data = &function.ops[op];
    let is_row = along.outer == 1 && along.inner == 1 && along.axis >= PARTIALS;
    let step = Reduce {
        along,
        fold: fold::of_region(function, op, kinds[0]),
        row: is_row.then(|| fold::of_strips(function, op, kinds[0])).flatten(),
        cpu: lower.cpu(),
        kinds,
        region,
    };
    let ins = lower.operands(data);
    let mut outs = Vec::new();
    for &result in &data.results {
        outs.extend(lower.define(function, result)?);
    }
    let lanes = (along.outer * along.inner) as u32;
    lower.emit(step, ins, outs, lanes);
    Ok(())
}

/// `tt.reduce.return` and its like: their values are taken by the operation they end.
pub fn region_return(_: &mut Lower<'_>, _: &Function, _: OpId) -> Result<()> {
    Ok(())
}
