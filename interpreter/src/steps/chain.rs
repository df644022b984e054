//! Chains: element-wise operations that run together, one block of lanes after the other.
//!
//! What passes between them stays in the first-level cache, and only what is used elsewhere is ever written
//! whole. A chain is made by [`crate::optimise`] from instructions of the tape; their steps are the same, with
//! the same bits. Where undefined lanes are about they run on whole tiles, one after the other, and carry
//! births as everywhere else.

use crate::machine::{Flow, Machine, Stop};
use crate::steps::memory::placed::Reach;
use crate::steps::region::exchange;
use crate::steps::strip::{Line, Round};
use crate::tape::{Code, Effect, Inst, Step};

/// Element-wise operations on tiles of one size.
///
/// The instruction's operands and results are outside; `code.results` are the slots of the results inside.
#[derive(Debug)]
pub struct Chain {
    /// The operations; their lanes are the machine's batch.
    pub code: Code,
    /// Which of them are loads and stores: at most [`MAX_PLACED`].
    pub placed: Vec<usize>,
    /// Lanes of the tiles, a power of two.
    pub lanes: usize,
    /// Lanes of a block, a power of two and at least 64.
    pub block: usize,
    /// Bytes of a lane of each operand; 0 for those that are always read whole.
    pub operand_bytes: Vec<u8>,
    /// Bytes of a lane of each result.
    pub result_bytes: Vec<u8>,
    /// The same as a straight line through vector registers, where it is one.
    pub line: Option<Line>,
    /// The loop that does nothing else, if it is in one.
    pub round: Option<Round>,
}

/// Most loads and stores in a chain.
pub const MAX_PLACED: usize = 8;

/// What the accesses of a chain touch.
type Reaches = [Option<Reach>; MAX_PLACED];

impl Chain {
    /// True if something goes along with the lanes.
    pub fn is_followed(&self, machine: &Machine<'_>) -> bool {
        let ordered = machine.ordered.is_some() || machine.context.memory.compare.is_some();
        machine.taint.is_active() || machine.exact.is_active() || ordered && !self.placed.is_empty()
    }

    /// Finds where all accesses are; true if they are beyond doubt, and none has to wait until another has done all of its lanes.
    fn reaches(&self, machine: &Machine<'_>, seen: &mut Reaches) -> bool {
        for (i, &member) in self.placed.iter().enumerate() {
            let inst = &self.code.insts[member];
            let Some(reach) = inst.step.reach(inst, machine) else {
                return false;
            };
            let clashes = |other: &Reach| (other.writes || reach.writes) && !other.is_apart(&reach);
            if seen[..i].iter().flatten().any(clashes) {
                return false;
            }
            seen[i] = Some(reach);
        }
        true
    }

    /// All operations on whole tiles.
    fn run_whole(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<(), Stop> {
        let outer = std::mem::replace(&mut machine.batch, self.lanes);
        machine.steps -= 1;
        let ran = machine.run_nested(&self.code);
        machine.batch = outer;
        machine.at = inst.at;
        ran?;
        for (&inside, &out) in self.code.results.iter().zip(&inst.outs) {
            exchange(machine, inside, out);
        }
        Ok(())
    }

    /// One block.
    fn run_block(&self, machine: &mut Machine<'_>, reaches: &Reaches) -> Result<(), Stop> {
        let mut placed = self.placed.iter().zip(reaches.iter().flatten()).peekable();
        for (i, inner) in self.code.insts.iter().enumerate() {
            match placed.next_if(|placed| *placed.0 == i) {
                Some((_, reach)) => inner.step.run_part(inner, machine, reach),
                None => _ = inner.step.run(inner, machine)?,
            }
        }
        Ok(())
    }

    /// Block by block.
    fn run_blocks(&self, inst: &Inst, machine: &mut Machine<'_>, reaches: &Reaches) -> Result<(), Stop> {
        for (&member, reach) in self.placed.iter().zip(reaches.iter().flatten()) {
            let inst = &self.code.insts[member];
            inst.step.begin(inst, machine, reach);
        }
        let outer = std::mem::replace(&mut machine.batch, self.block);
        // The chain itself has been counted.
        machine.steps += self.code.insts.len() as u64 - 1;
        let mut ran = Ok(());
        for first in (0..self.lanes).step_by(self.block) {
            machine.first = first;
            for (&slot, &bytes) in inst.ins.iter().zip(&self.operand_bytes) {
                machine.frame.window(slot, first, bytes as usize);
            }
            ran = self.run_block(machine, reaches);
            if ran.is_err() {
                break;
            }
            let results = self.code.results.iter().zip(&inst.outs);
            for ((&inside, &out), &bytes) in results.zip(&self.result_bytes) {
                machine
                    .frame
                    .deposit(inside, out, bytes as usize, first, self.block, self.lanes);
            }
        }
        inst.ins.iter().for_each(|&slot| machine.frame.unwindow(slot));
        machine.first = 0;
        machine.batch = outer;
        ran
    }
}

impl Step for Chain {
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let is_uniform = |&slot| machine.frame.uniform(slot).is_some();
        let is_same = self.placed.is_empty() && inst.ins.iter().all(is_uniform);
        let followed = self.is_followed(machine) || is_same;
        if let Some(line) = self.line.as_ref().filter(|_| !followed) {
            let round = self.round.as_ref();
            let turns = round.map(|round| round.turns(machine, self.code.insts.len()));
            let done = line.run(&self.code.insts, inst, machine, self.lanes, turns);
            if let Some(round) = round {
                round.go_on(machine, self.code.insts.len(), done);
            }
            if done > 0 {
                return Ok(Flow::Next);
            }
        }
        let mut reaches: Reaches = Default::default();
        let folds = self.line.as_ref().is_some_and(Line::folds);
        let whole = self.lanes <= self.block || followed || folds;
        match !whole && self.reaches(machine, &mut reaches) {
            false => self.run_whole(inst, machine)?,
            true => {
                self.run_blocks(inst, machine, &reaches)?;
                if self.is_followed(machine) {
                    // A lane without a value was born, or wrapped around: once more, with that.
                    self.run_whole(inst, machine)?;
                }
            }
        }
        Ok(Flow::Next)
    }

    fn chain(&self) -> Option<&Chain> {
        Some(self)
    }

    fn chain_mut(&mut self) -> Option<&mut Chain> {
        Some(self)
    }

    fn effect(&self) -> Effect {
        let effects = self.code.insts.iter().map(|inst| inst.step.effect());
        effects.max().unwrap_or_default()
    }

    fn name(&self) -> String {
        if let Some(line) = &self.line {
            let passes = match line.passes() {
                1 => String::new(),
                count => format!(" in {count} passes,"),
            };
            let turns = match self.round {
                Some(_) => " turns at once,",
                None => "",
            };
            return format!(
                "Chain of {}, strip by strip,{passes}{turns}",
                self.code.insts.len()
            );
        }
        match self.lanes <= self.block {
            true => format!("Chain of {}, at once,", self.code.insts.len()),
            false => format!(
                "Chain of {}, {} lanes at a time,",
                self.code.insts.len(),
                self.block
            ),
        }
    }

    /// The nested instructions carry births.
    fn taint(&self, _: &Inst, _: &mut Machine<'_>) {}

    /// So do they with what wrapped around.
    fn exact(&self, _: &Inst, _: &mut Machine<'_>) {}

    fn nested(&self) -> Option<&Code> {
        Some(&self.code)
    }

    fn nested_mut(&mut self) -> Option<&mut Code> {
        Some(&mut self.code)
    }
}
