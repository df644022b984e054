//! `tt.scan`: a running combination along a dimension; and `tt.map_elementwise`: a region per lane.
//!
//! A scan goes from the first element to the last, or the other way if reversed; element i of all rows is
//! one batch. `tt.map_elementwise` gives its region `pack` neighbouring lanes of each operand, in
//! row-major order (which lanes are neighbours on a GPU depends on the layout).

use crate::kind::Kind;
use crate::lower::Lower;
use crate::machine::{Flow, Machine, Stop};
use crate::simd::Cpu;
use crate::steps::fold::{self, Fold, RunningRows};
use crate::steps::reduce::{Along, combining_region};
use crate::steps::region::{Chunks, Region, exchange};
use crate::taint::Births;
use crate::tape::{Code, Effect, Inst, Step};
use crate::with_width;
use tilescope_diagnostics::Result;
use tilescope_ir::{Attrs, Function, OpId};

/// `tt.scan`.
#[derive(Debug)]
struct Scan {
    along: Along,
    reverse: bool,
    kinds: Vec<Kind>,
    region: Region,
    fold: Option<Fold>,
    cpu: Cpu,
}

impl Step for Scan {
    fn effect(&self) -> Effect {
        Effect::None
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let defined = !machine.taint.is_active() || inst.ins.iter().all(|&s| machine.taint.get(s).is_none());
        match self.fold {
            Some(fold) if defined => {
                let (from, to) = (inst.ins[0], inst.outs[0]);
                (fold.scan)(&mut machine.frame, self.cpu, self.along, self.reverse, from, to);
                if machine.taint.is_active() {
                    machine.taint.set(to, None);
                }
            }
            _ => self.combine(inst, machine)?,
        }
        Ok(Flow::Next)
    }

    /// The nested instructions carry births.
    fn taint(&self, _: &Inst, _: &mut Machine<'_>) {}

    fn running_rows(&self) -> Option<RunningRows> {
        let is_row = self.along.outer == 1 && self.along.inner == 1 && self.along.axis > 1;
        self.fold?.rows.filter(|_| is_row && !self.reverse)
    }

    fn nested(&self) -> Option<&Code> {
        Some(&self.region.code)
    }

    fn nested_mut(&mut self) -> Option<&mut Code> {
        Some(&mut self.region.code)
    }
}

impl Scan {
    /// Any region, on any operands.
    fn combine(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<(), Stop> {
        let (along, lanes) = (self.along, self.along.lanes());
        let (sums, elements) = self.region.code.args.split_at(self.kinds.len());
        let mut buffers: Vec<_> = inst
            .outs
            .iter()
            .zip(&self.kinds)
            .map(|(&out, kind)| with_width!(kind, T => machine.frame.take::<T>(out, lanes)))
            .collect();
        let mut births: Vec<Vec<u32>> = vec![Vec::new(); self.kinds.len()];
        let mut ran = Ok(());
        for i in 0..along.axis {
            let at = if self.reverse { along.axis - 1 - i } else { i };
            let chunks = along.elements(at, 1);
            let to = if i == 0 { sums } else { elements };
            for ((&from, &to), &kind) in inst.ins.iter().zip(to).zip(&self.kinds) {
                chunks.stage(machine, kind, from, to);
            }
            if i > 0 {
                ran = self.region.run(machine, chunks.lanes());
                if ran.is_err() {
                    break;
                }
                for (&sum, &result) in sums.iter().zip(&self.region.code.results) {
                    exchange(machine, sum, result);
                }
            }
            for ((buffer, births), (&sum, &kind)) in buffers
                .iter_mut()
                .zip(&mut births)
                .zip(sums.iter().zip(&self.kinds))
            {
                with_width!(kind, T => {
                    let tile = machine.frame.tile::<T>(sum, chunks.lanes());
                    chunks.scatter(tile, buffer.lanes::<T>(lanes));
                });
                if let Some(of_sum) = machine.taint.get(sum) {
                    births.resize(lanes, 0);
                    let dense: Vec<u32> = (0..chunks.lanes()).map(|i| of_sum.lane(i)).collect();
                    chunks.scatter(crate::frame::Tile::Dense(&dense), births);
                }
            }
        }
        machine.at = inst.at;
        for (((&out, buffer), births), kind) in inst.outs.iter().zip(buffers).zip(births).zip(&self.kinds) {
            machine.frame.put(out, buffer);
            with_width!(kind, T => scalar_is_uniform::<T>(machine, out, lanes));
            if machine.taint.is_active() {
                machine.taint.set(out, Some(Births::Dense(births)));
            }
        }
        ran
    }
}

/// A tile of one lane is held as a scalar is.
fn scalar_is_uniform<T: crate::kind::Lane>(
    machine: &mut Machine<'_>,
    slot: crate::frame::Slot,
    lanes: usize,
) {
    if lanes == 1 {
        let bits = machine.frame.scalar::<T>(slot).to_bits();
        machine.frame.set_uniform(slot, bits);
    }
}

/// `tt.scan`.
pub fn scan(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let (along, reverse) = Along::of(lower, function, op)?;
    let (kinds, region) = combining_region(lower, function, op, along.outer * along.inner)?;
    let data = &function.ops[op];
    let step = Scan {
        along,
        reverse,
        fold: fold::of_region(function, op, kinds[0]),
        cpu: lower.cpu(),
        kinds,
        region,
    };
    let ins = lower.operands(data);
    let mut outs = Vec::new();
    for &result in &data.results {
        outs.extend(lower.define(function, result)?);
    }
    lower.emit(step, ins, outs, along.lanes() as u32);
    Ok(())
}

/// `tt.map_elementwise`.
#[derive(Debug)]
struct Map {
    /// Lanes that one run of the region takes of each operand and gives to each result.
    pack: usize,
    /// Kinds of the operands, then of the results.
    kinds: (Vec<Kind>, Vec<Kind>),
    region: Region,
}

impl Map {
    /// Lane `i` of each pack.
    fn lanes(&self, i: usize, batch: usize) -> Chunks {
        Chunks {
            count: batch,
            run: 1,
            start: i,
            stride: self.pack,
        }
    }
}

impl Step for Map {
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let lanes = inst.lanes as usize;
        let batch = lanes / self.pack;
        for (i, &arg) in self.region.code.args.iter().enumerate() {
            let (operand, lane) = (i / self.pack, i % self.pack);
            self.lanes(lane, batch)
                .stage(machine, self.kinds.0[operand], inst.ins[operand], arg);
        }
        self.region.run(machine, batch)?;
        machine.at = inst.at;
        let results = self.region.code.results.chunks_exact(self.pack);
        for ((&out, results), &kind) in inst.outs.iter().zip(results).zip(&self.kinds.1) {
            if let [result] = results {
                exchange(machine, *result, out);
                with_width!(kind, T => scalar_is_uniform::<T>(machine, out, lanes));
                continue;
            }
            with_width!(kind, T => {
                let mut buffer = machine.frame.take::<T>(out, lanes);
                for (i, &result) in results.iter().enumerate() {
                    let tile = machine.frame.tile::<T>(result, batch);
                    self.lanes(i, batch).scatter(tile, buffer.lanes::<T>(lanes));
                }
                machine.frame.put(out, buffer);
                scalar_is_uniform::<T>(machine, out, lanes);
            });
            if machine.taint.is_active() {
                let lane = |i: usize| {
                    machine
                        .taint
                        .get(results[i % self.pack])
                        .map_or(0, |b| b.lane(i / self.pack))
                };
                let births = Births::Dense((0..lanes).map(lane).collect());
                machine.taint.set(out, Some(births));
            }
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

/// `tt.map_elementwise`.
pub fn map_elementwise(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let Attrs::Map(pack) = data.attrs else {
        return Err(lower.wrong(function, op, "a map without pack"));
    };
    let pack = pack as usize;
    let lanes = data.operands.first().map_or(0, |&v| function.ty(v).lanes());
    let alike = |&v: &tilescope_ir::ValueId| function.ty(v).lanes() == lanes;
    if pack == 0 || !lanes.is_multiple_of(pack) || !data.operands.iter().chain(&data.results).all(alike) {
        let what = format!("operands and results must have one shape, of a multiple of {pack} elements");
        return Err(lower.wrong(function, op, what));
    }
    let kinds = |values: &[tilescope_ir::ValueId]| values.iter().map(|&v| lower.kind(function, v)).collect();
    let kinds: (Vec<Kind>, Vec<Kind>) = (kinds(&data.operands), kinds(&data.results));
    let shape = (data.operands.len() * pack, data.results.len() * pack);
    let region = Region::lower(lower, function, op, lanes / pack, shape)?;
    let fits = |inside: &[Kind], outside: &[Kind]| {
        inside
            .iter()
            .enumerate()
            .all(|(i, kind)| kind.bytes() == outside[i / pack].bytes())
    };
    if !fits(&region.args, &kinds.0) || !fits(&region.results, &kinds.1) {
        return Err(lower.wrong(
            function,
            op,
            "the operands, region and results of a map must agree in type",
        ));
    }
    let ins = lower.operands(data);
    let mut outs = Vec::new();
    for &result in &data.results {
        outs.extend(lower.define(function, result)?);
    }
    lower.emit(Map { pack, kinds, region }, ins, outs, lanes as u32);
    Ok(())
}
