//! Regions of reduce, scan and map: nested code that runs on a batch of lanes at once.
//!
//! A region computes scalars. Its values are slots as any others, with one lane for each of the elements
//! that are combined at the same time, so a region costs as much as the same operations on tiles. Where
//! its control flow depends on the values, it runs lane by lane.
//!
//! A batch is *staged*: lanes of tiles are copied to the slots of the arguments, births of undefined lanes
//! along with them, so that the nested instructions carry both as everywhere else.

use crate::frame::{Frame, Slot, Tile};
use crate::kind::{Kind, Lane};
use crate::lower::Lower;
use crate::machine::{Flow, Machine, Stop};
use crate::taint::Births;
use crate::tape::{Code, Inst, Step};
use crate::with_width;
use std::collections::HashSet;
use tilescope_diagnostics::Result;
use tilescope_ir::{Effect, Function, OpId, Type, ValueId};

/// Lanes held on the side, where a region runs lane by lane.
type Bits = Vec<u64>;

/// The region of an operation, to be run on batches.
#[derive(Debug)]
pub struct Region {
    /// The instructions; every result has a slot of its own, which is no argument's.
    pub code: Code,
    /// Kinds of the arguments.
    pub args: Vec<Kind>,
    /// Kinds of the results.
    pub results: Vec<Kind>,
}

impl Region {
    /// Lowers the region of an operation for batches of up to `batch` lanes; it must have this many
    /// arguments and results.
    pub fn lower(
        lower: &mut Lower<'_>,
        function: &Function,
        op: OpId,
        batch: usize,
        shape: (usize, usize),
    ) -> Result<Region> {
        let block = function.ops[op]
            .regions
            .first()
            .and_then(|&region| function.regions[region].blocks.first());
        let types: Vec<Type> = block
            .map(|&block| &function.blocks[block].args[..])
            .unwrap_or_default()
            .iter()
            .map(|&arg| function.ty(arg))
            .collect();
        let is_number = |ty: &Type| matches!(ty, Type::Scalar(elem) if Kind::of(*elem) != Some(Kind::Ptr));
        if !types.iter().all(is_number) {
            return Err(lower.unsupported(function, op, "a region of other values than numbers is not run"));
        }
        let mut code = lower.nested(function, op, batch as u32)?;
        if (code.args.len(), code.results.len()) != shape {
            let what = format!(
                "the region takes {} values and gives {}, not {} and {}",
                code.args.len(),
                code.results.len(),
                shape.0,
                shape.1
            );
            return Err(lower.wrong(function, op, what));
        }
        let args = code.args.iter().map(|&s| lower.slot_kind(s)).collect();
        let results: Vec<Kind> = code.results.iter().map(|&s| lower.slot_kind(s)).collect();
        own_results(lower, &mut code, &results, batch);
        Ok(Region { code, args, results })
    }

    /// Runs the region on `batch` lanes that are staged in the arguments' slots; the results are in theirs.
    pub fn run(&self, machine: &mut Machine<'_>, batch: usize) -> Result<(), Stop> {
        let outer = std::mem::replace(&mut machine.batch, batch);
        let ran = match self.code.branches && batch > 1 {
            true => self.run_lanes(machine, batch),
            false => machine.run_nested(&self.code),
        };
        machine.batch = outer;
        for &result in &self.code.results {
            machine.frame.flatten(result);
        }
        ran
    }

    /// One lane after the other.
    fn run_lanes(&self, machine: &mut Machine<'_>, batch: usize) -> Result<(), Stop> {
        machine.batch = 1;
        let mut staged: Vec<(Bits, Option<Births>)> = Vec::with_capacity(self.args.len());
        for (&slot, &kind) in self.code.args.iter().zip(&self.args) {
            let bits = bits_of(&machine.frame, slot, kind, batch);
            staged.push((bits, machine.taint.get(slot).cloned()));
        }
        let mut gathered: Vec<(Bits, Vec<u32>)> =
            vec![(Bits::with_capacity(batch), Vec::new()); self.results.len()];
        for lane in 0..batch {
            for (&slot, (bits, births)) in self.code.args.iter().zip(&staged) {
                machine.frame.set_uniform(slot, bits[lane]);
                if machine.taint.is_active() {
                    let birth = births.as_ref().map(|b| Births::Uniform(b.lane(lane)));
                    machine.taint.set(slot, birth);
                }
            }
            machine.run_nested(&self.code)?;
            for ((bits, births), (&slot, &kind)) in gathered
                .iter_mut()
                .zip(self.code.results.iter().zip(&self.results))
            {
                machine.frame.flatten(slot);
                bits.push(with_width!(kind, T => machine.frame.scalar::<T>(slot).to_bits()));
                if machine.taint.is_active() {
                    births.resize(lane, 0);
                    births.push(machine.taint.get(slot).map_or(0, |b| b.lane(0)));
                }
            }
        }
        for ((bits, births), (&slot, &kind)) in gathered
            .into_iter()
            .zip(self.code.results.iter().zip(&self.results))
        {
            with_width!(kind, T => machine.frame.fill::<T>(slot, batch, |_, i| T::from_bits(bits[i])));
            if machine.taint.is_active() {
                machine.taint.set(slot, Some(Births::Dense(births)));
            }
        }
        Ok(())
    }
}

fn bits_of(frame: &Frame, slot: Slot, kind: Kind, lanes: usize) -> Bits {
    with_width!(kind, T => {
        let tile = frame.tile::<T>(slot, lanes);
        (0..lanes).map(|i| tile.lane(i).to_bits()).collect()
    })
}

/// A result that is an argument, a value from outside or another result gets a copy of its own at the end.
fn own_results(lower: &mut Lower<'_>, code: &mut Code, kinds: &[Kind], batch: usize) {
    for (i, &kind) in kinds.iter().enumerate() {
        let slot = code.results[i];
        let made_inside = code.insts.iter().any(|inst| inst.outs.contains(&slot));
        if made_inside && !code.args.contains(&slot) && !code.results[..i].contains(&slot) {
            continue;
        }
        let own = lower.temp(kind, batch as u32);
        code.insts.push(Inst::new(
            Keep { kind },
            vec![slot],
            vec![own],
            0,
            lower.place_of(),
        ));
        code.results[i] = own;
    }
}

/// A copy of a value.
#[derive(Debug)]
struct Keep {
    kind: Kind,
}

impl Step for Keep {
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let bytes = inst.lanes(machine) * self.kind.bytes();
        machine.frame.copy(inst.ins[0], inst.outs[0], bytes);
        Ok(Flow::Next)
    }
}

/// Which lanes of a tile make a batch: `count` runs of `run` lanes, the first at `start`, then every
/// `stride`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunks {
    /// Runs.
    pub count: usize,
    /// Lanes per run.
    pub run: usize,
    /// First lane.
    pub start: usize,
    /// Lanes from one run to the next.
    pub stride: usize,
}

impl Chunks {
    /// Lanes of the batch.
    pub fn lanes(self) -> usize {
        self.count * self.run
    }

    /// Lanes of the tile that must be there.
    fn reach(self) -> usize {
        self.start + (self.count - 1) * self.stride + self.run
    }

    /// Copies the lanes out of a tile.
    pub fn copy<T: Copy>(self, from: &[T], to: &mut [T]) {
        if self.run == 1 {
            for (to, from) in to.iter_mut().zip(from[self.start..].iter().step_by(self.stride)) {
                *to = *from;
            }
            return;
        }
        for (i, to) in to.chunks_exact_mut(self.run).enumerate() {
            let at = self.start + i * self.stride;
            to.copy_from_slice(&from[at..at + self.run]);
        }
    }

    /// Copies the lanes into a tile, where they come from.
    pub fn scatter<T: Copy>(self, from: Tile<'_, T>, to: &mut [T]) {
        for i in 0..self.count {
            let at = self.start + i * self.stride;
            let to = &mut to[at..at + self.run];
            match from {
                Tile::Uniform(value) => to.fill(value),
                Tile::Dense(from) => to.copy_from_slice(&from[i * self.run..][..self.run]),
            }
        }
    }

    /// Stages the lanes of a slot in another.
    pub fn stage(self, machine: &mut Machine<'_>, kind: Kind, from: Slot, to: Slot) {
        with_width!(kind, T => self.stage_as::<T>(&mut machine.frame, from, to));
        if machine.taint.is_active() {
            let births = machine.taint.get(from).map(|births| self.births(births));
            machine.taint.set(to, births);
        }
    }

    fn stage_as<T: Lane>(self, frame: &mut Frame, from: Slot, to: Slot) {
        if let Some(bits) = frame.uniform(from) {
            frame.set_uniform(to, bits);
            return;
        }
        let mut buffer = frame.take::<T>(to, self.lanes());
        if let Tile::Dense(from) = frame.tile::<T>(from, self.reach()) {
            self.copy(from, buffer.lanes(self.lanes()));
        }
        frame.put(to, buffer);
    }

    /// Births of the lanes.
    pub fn births(self, births: &Births) -> Births {
        match births {
            Births::Uniform(birth) => Births::Uniform(*birth),
            Births::Dense(_) => {
                let lane = |i| births.lane(self.start + i / self.run * self.stride + i % self.run);
                Births::Dense((0..self.lanes()).map(lane).collect())
            }
        }
    }
}

/// Exchanges two slots and what is known of their lanes.
pub fn exchange(machine: &mut Machine<'_>, a: Slot, b: Slot) {
    machine.frame.swap(a, b);
    if machine.taint.is_active() {
        machine.taint.swap(a, b);
    }
    if machine.exact.is_active() {
        machine.exact.swap(a, b);
    }
}

/// The operations of a region whose values somebody needs, in order.
///
/// A combine function may ask for the type of its argument by computing with it (`(x + tl.zeros([1], …)).dtype`):
/// such tiles could not be run on a batch of lanes, and need not be.
pub fn live(function: &Function, ops: &[OpId], last: OpId) -> Vec<OpId> {
    let mut needed = HashSet::new();
    need(function, last, &mut needed);
    let mut live = Vec::with_capacity(ops.len());
    for &op in ops.iter().rev() {
        let data = &function.ops[op];
        let idle = data.code.info().effect == Effect::Pure && data.regions.is_empty();
        if idle && !data.results.iter().any(|result| needed.contains(result)) {
            continue;
        }
        need(function, op, &mut needed);
        live.push(op);
    }
    live.reverse();
    live
}

/// Adds the values that an operation uses, in its regions too.
fn need(function: &Function, op: OpId, needed: &mut HashSet<ValueId>) {
    let mut todo = vec![op];
    while let Some(op) = todo.pop() {
        let data = &function.ops[op];
        needed.extend(&data.operands);
        needed.extend(data.successors.iter().flat_map(|s| &s.args));
        for &region in &data.regions {
            for &block in &function.regions[region].blocks {
                todo.extend(&function.blocks[block].ops);
            }
        }
    }
}
