//! Running a line: once, or for several turns that differ only in where their rows lie.
//!
//! Turns are those of a loop that does nothing else, or neighbouring programs ([`crate::stretch`]). The rows of the first and
//! the last one tell that all between are beyond doubt, and each is the one before, so many bytes further on: so all of
//! them are judged and noted at once, and operations made ready once. Where rows of whole tiles begin where the last
//! turn's end, they are done as one.

use super::{Access, Line, MOST_ROOMS, Origin, PASSES, RESULTS};
use crate::frame::{Slot, Taken, Tile};
use crate::hunt;
use crate::machine::Machine;
use crate::optimise::formula::Rule;
use crate::simd::strip::{Fold, Operand, PARTIALS, Ready, Run, Steps, Window};
use crate::steps::control::Counted;
use crate::steps::fold;
use crate::steps::memory::row::Row;
use crate::tape::{Code, Inst};
use std::cell::Cell;
use std::ops::Range;

/// Turns of a loop that are done at once, at most: an interrupt waits for their end.
const MOST: u64 = 64;

/// What turns are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// Neighbouring programs.
    Programs,
    /// Turns of a loop of the program.
    Loop,
}

/// Turns that follow each other, the current one first.
#[derive(Debug, Clone, Copy)]
pub struct Turns {
    /// What tells them apart.
    pub scalar: Slot,
    /// How much it goes up from turn to turn.
    pub by: i64,
    /// How many they are.
    pub most: u64,
    /// What they are.
    pub of: Of,
}

/// A counted loop that is one chain.
#[derive(Debug, Clone, Copy)]
pub struct Round {
    counted: Counted,
    counter: Slot,
    step: Slot,
    bound: Slot,
}

impl Round {
    /// Finds loops that are a chain of which only what it stores is left, and tells them.
    pub fn mark(code: &mut Code) {
        for last in 1..code.insts.len() {
            let (before, rest) = code.insts.split_at_mut(last);
            let (Some(inst), Some(again)) = (before.last_mut(), rest.first()) else {
                continue;
            };
            let is_again = matches!(again.step.rule(), Some(Rule::Again));
            let (Some(counted), &[counter, step, bound]) = (again.step.counted(), &again.ins[..]) else {
                continue;
            };
            let begin = code.labels.get(counted.label.0 as usize);
            let fits = |inst: &Inst| {
                let chain = inst.step.chain()?;
                let (members, line) = (&chain.code.insts, chain.line.as_ref()?);
                Some(line.is_same_but_for(members, inst, &[counter]))
            };
            if is_again && begin == Some(&(last as u32 - 1)) && fits(inst) == Some(true) {
                let round = Round {
                    counted,
                    counter,
                    step,
                    bound,
                };
                if let Some(chain) = inst.step.chain_mut() {
                    chain.round = Some(round);
                }
            }
        }
    }

    /// The turns that may be done at once, where each executes so many operations and the jump.
    pub fn turns(&self, machine: &Machine<'_>, operations: usize) -> Turns {
        let bits = [self.counter, self.step, self.bound].map(|slot| machine.frame.uniform(slot));
        let may_wait = machine.context.cooperative || machine.synced;
        let (by, more) = match bits {
            [Some(counter), Some(step), Some(bound)] if !may_wait && machine.hunt.is_none() => {
                self.counted.turns_left(counter, step, bound)
            }
            _ => (0, 0),
        };
        let operations = operations as u64;
        let left = machine
            .context
            .max_steps
            .saturating_sub(machine.steps + operations);
        Turns {
            scalar: self.counter,
            by,
            most: 1 + more.min(left / (operations + 1)).min(MOST - 1),
            of: Of::Loop,
        }
    }

    /// Goes to the last of the turns that were done.
    pub fn go_on(&self, machine: &mut Machine<'_>, operations: usize, done: u64) {
        let bits = [self.counter, self.step].map(|slot| machine.frame.uniform(slot));
        if let ([Some(counter), Some(step)], 2..) = (bits, done) {
            let next = self.counted.after(counter, step, done - 1);
            machine.frame.set_uniform(self.counter, next);
            machine.steps += (done - 1) * (operations as u64 + 1);
        }
    }
}

impl Line {
    /// Runs it, for as many turns as places and masks allow: what the chain would do otherwise, with the same bits. Gives
    /// how many it did: none where it cannot do the first.
    pub fn run(
        &self,
        members: &[Inst],
        inst: &Inst,
        machine: &mut Machine<'_>,
        lanes: usize,
        turns: Option<Turns>,
    ) -> u64 {
        let most = [self.accesses.len(), self.masks.len(), self.operands.len()];
        let rooms = most.into_iter().max().unwrap_or(0);
        let results = self.tiles.len().max(self.folds.len());
        let run = match (rooms, results, self.passes.len()) {
            (0..=2, 0, 1) => Line::run_in::<2, 0, 1>,
            (0..=4, 0, 1) => Line::run_in::<4, 0, 1>,
            (_, 0, 1) => Line::run_in::<MOST_ROOMS, 0, 1>,
            (0..=4, _, 1) => Line::run_in::<4, RESULTS, 1>,
            (_, _, 1) => Line::run_in::<MOST_ROOMS, RESULTS, 1>,
            (0..=4, ..) => Line::run_in::<4, RESULTS, PASSES>,
            (..) => Line::run_in::<MOST_ROOMS, RESULTS, PASSES>,
        };
        run(self, members, inst, machine, lanes, turns)
    }

    /// Runs it with so many rooms for what it names, for what it makes, and for passes: to make more of them costs short rows a
    /// tenth of their time.
    fn run_in<const ROOMS: usize, const RESULTS: usize, const PASSES: usize>(
        &self,
        members: &[Inst],
        inst: &Inst,
        machine: &mut Machine<'_>,
        lanes: usize,
        turns: Option<Turns>,
    ) -> u64 {
        let context = machine.context;
        let shared = &context.memory.shared;
        let mut rows = [Row::EMPTY; ROOMS];
        let rows = &mut rows[..self.accesses.len()];
        let mut windows = [Window::EMPTY; ROOMS];
        let windows = &mut windows[..self.accesses.len()];
        let mut ranges = [(0, 0); ROOMS];
        let ranges = &mut ranges[..self.masks.len()];
        if !self.windows(members, machine, rows, windows) || !self.ranges(inst, machine, lanes, ranges) {
            return 0;
        }
        let mut steps = [0; ROOMS];
        let steps = &mut steps[..rows.len()];
        let of = turns.map_or(Of::Loop, |turns| turns.of);
        let more = turns.and_then(|turns| self.more(members, machine, rows, turns, steps));
        let count = 1 + more.unwrap_or(0);
        let numbers = |&origin: &Origin| match origin {
            Origin::Outside(of) => machine.frame.uniform(inst.ins[of]).is_some(),
            _ => false,
        };
        let joined =
            count > 1 && self.operands.iter().all(numbers) && self.joins((lanes, of), rows, steps, ranges);
        for ((access, row), &step) in self.accesses.iter().zip(&*rows).zip(&*steps) {
            access
                .placed
                .note(&members[access.member], machine, row, (step, count, of));
        }
        machine.steps += members.len() as u64 - 1;
        let (mut lanes, mut rounds) = (lanes, count);
        let mut parts: [(Range<usize>, usize); PASSES] = [const { (0..0, 0) }; PASSES];
        if joined {
            (lanes, rounds) = (lanes * count as usize, 1);
            ranges.fill((0, lanes));
            parts[0] = (0..lanes, lanes);
        } else {
            for (part, pass) in parts.iter_mut().zip(&self.passes) {
                *part = self.part(inst, machine, lanes, (pass, windows, ranges));
            }
        }
        let edge = match self.tiles.is_empty() {
            true => 0,
            false => self.edges(inst, machine, lanes, (windows, ranges)).0,
        };
        let mut ahead = std::mem::take(&mut machine.frame.ahead);
        let scratch = machine.strip.take().unwrap_or_default();
        let mut buffers: [Option<Taken>; RESULTS] = [const { None }; RESULTS];
        let mut made: [&[Cell<f32>]; RESULTS] = [&[]; RESULTS];
        for ((buffer, cells), tile) in buffers.iter_mut().zip(&mut made).zip(&self.tiles) {
            let buffer = buffer.insert(machine.frame.take::<f32>(tile.slot(members, inst), lanes));
            *cells = Cell::from_mut(buffer.lanes::<f32>(lanes)).as_slice_of_cells();
        }
        let mut operands = [Operand::Uniform(0.0, 0.0); ROOMS];
        let operands = &mut operands[..self.operands.len()];
        for (operand, &of) in operands.iter_mut().zip(&self.operands) {
            *operand = match of {
                Origin::Outside(of) => match machine.frame.tile::<f32>(inst.ins[of], lanes) {
                    Tile::Uniform(x) => Operand::uniform(x),
                    Tile::Dense(tile) => Operand::Tile(tile),
                },
                Origin::Tile(i) => Operand::Made(made[i]),
                // Filled in when an earlier pass has it.
                Origin::Fold(_) => continue,
            };
        }
        let mut numbers = [0.0; RESULTS];
        let folds = [const { Cell::new([0.0; PARTIALS]) }; RESULTS];
        let mut room: [Steps; PASSES] = std::array::from_fn(|_| Steps::none());
        let mut ready: [Option<Ready<'_>>; PASSES] = [const { None }; PASSES];
        for (((pass, (part, alike)), ready), room) in
            self.passes.iter().zip(parts).zip(&mut ready).zip(&mut room)
        {
            if part.is_empty() && alike == part.end {
                continue;
            }
            let run = Run {
                lanes: part,
                alike,
                ranges,
                results: &made[pass.tiles.clone()],
                folds: &folds[..pass.folds.len()],
                lines: pass.lines,
                scratch: &scratch,
            };
            let ops = pass.quick.as_ref().unwrap_or(&pass.ops);
            *ready = Some(Ready::new(context.cpu, ops, run, room));
        }
        let mut streams = [false; ROOMS];
        for ((streams, access), row) in streams.iter_mut().zip(&self.accesses).zip(&*rows) {
            *streams = access.placed.writes && shared.streams(row.allocation, row.bytes());
        }
        let mut special = false;
        for turn in 0..rounds {
            for (i, access) in self.accesses.iter().enumerate() {
                let mut row = rows[i].shifted(steps[i] * turn as i64);
                if joined {
                    row = row.repeated(count as usize);
                }
                if (joined || turn > 0)
                    && let Some(span) = shared.span(row.allocation, row.offset, row.bytes())
                {
                    windows[i] = windows[i].at(span, row.first..row.last, streams[i]);
                }
                // Rows that go on and on need no asking for.
                if !access.placed.writes && !joined {
                    let place = (row.allocation, row.offset, row.bytes());
                    let which = members[access.member].at.0 as usize;
                    machine.strides.expect(which, shared, place, &mut ahead);
                }
            }
            let mut found = false;
            for (pass, ready) in self.passes.iter().zip(&mut ready) {
                let Some(ready) = ready else { continue };
                let kinds = &self.folds[pass.folds.clone()];
                let mut go = |ready: &mut Ready<'_>, is_quick: bool| {
                    let of = |fold: Fold| fold.quick().filter(|_| is_quick).unwrap_or(fold);
                    for (partials, (_, fold)) in folds.iter().zip(kinds) {
                        partials.set(of(*fold).start());
                    }
                    found |= ready.go(windows, operands, &mut ahead);
                    let numbers = &mut numbers[pass.folds.clone()];
                    let mut sure = true;
                    for ((number, (_, fold)), partials) in numbers.iter_mut().zip(kinds).zip(&folds) {
                        *number = fold::of_partials(of(*fold), partials.get());
                        sure &= fold::is_sure(of(*fold), *number);
                    }
                    sure
                };
                if !go(ready, pass.quick.is_some()) {
                    let (run, mut room) = (ready.run().clone(), Steps::none());
                    go(&mut Ready::new(context.cpu, &pass.ops, run, &mut room), false);
                }
                if kinds.is_empty() {
                    continue;
                }
                for (operand, &of) in operands.iter_mut().zip(&self.operands) {
                    if let Origin::Fold(i) = of
                        && pass.folds.contains(&i)
                    {
                        *operand = Operand::uniform(numbers[i]);
                    }
                }
            }
            found &= context.memory.specials;
            special |= found;
            if found && of == Of::Programs && !joined {
                machine.sink.suspects.add(machine.linear + turn);
            }
        }
        for (tile, cells) in self.tiles.iter().zip(made) {
            // Nobody reads more of others.
            if let (Some(_), Some((first, others))) = (tile.result, cells[edge..].split_first()) {
                others.iter().for_each(|other| other.set(first.get()));
            }
        }
        for (made, buffer) in self.tiles.iter().zip(buffers) {
            if let Some(buffer) = buffer {
                let slot = made.slot(members, inst);
                machine.frame.put(slot, buffer);
                machine.frame.set_alike_from(slot, edge);
            }
        }
        for (&(result, _), number) in self.folds.iter().zip(numbers) {
            if let Some(result) = result {
                let bits = u64::from(number.to_bits());
                machine.frame.set_uniform(inst.outs[result], bits);
            }
        }
        machine.frame.ahead = ahead;
        machine.strip = Some(scratch);
        match of {
            Of::Loop if special => machine.sink.suspects.add(machine.linear),
            Of::Programs if special && joined => self.suspect(machine, rows, steps, count),
            _ => {}
        }
        count
    }

    /// How many turns more there are of which all rows are beyond doubt, and the bytes from row to row; none if they cannot be told.
    fn more(
        &self,
        members: &[Inst],
        machine: &Machine<'_>,
        rows: &[Row],
        turns: Turns,
        steps: &mut [i64],
    ) -> Option<u64> {
        let mut more = turns.most.checked_sub(1).filter(|&more| more > 0)?;
        for ((step, access), row) in steps.iter_mut().zip(&self.accesses).zip(rows) {
            let member = &members[access.member];
            let turns = (turns.scalar, turns.by, more);
            (*step, more) = access.placed.step(member, machine, row, turns)?;
        }
        // Rows of one allocation must stay as they are to each other.
        let clash = |i: usize, j: usize| rows[i].allocation == rows[j].allocation && steps[i] != steps[j];
        let mut written = (0..rows.len()).filter(|&i| self.accesses[i].placed.writes);
        let clashes = written.any(|i| (0..rows.len()).any(|j| clash(i, j)));
        (!clashes).then_some(more)
    }

    /// True if rows are of whole tiles of so many lanes and begin where the last turn's end, so that all turns are one. Of
    /// one store, what is in memory afterwards tells which programs stored a NaN or an infinity.
    fn joins(
        &self,
        (lanes, of): (usize, Of),
        rows: &[Row],
        steps: &[i64],
        ranges: &[(usize, usize)],
    ) -> bool {
        let [pass] = &self.passes[..] else { return false };
        let is_next =
            |(row, &step): (&Row, &i64)| (row.first, row.last) == (0, lanes) && step == row.bytes() as i64;
        let stores = self.accesses.iter().filter(|access| access.placed.writes);
        pass.tiles.is_empty()
            && pass.folds.is_empty()
            && rows.iter().zip(steps).all(is_next)
            && ranges.iter().all(|&range| range == (0, lanes))
            && (of == Of::Loop || stores.count() == 1)
    }

    /// Notes which programs stored a NaN or an infinity, of some that follow the current one: one did.
    #[cold]
    fn suspect(&self, machine: &mut Machine<'_>, rows: &[Row], steps: &[i64], count: u64) {
        for program in 0..count {
            let stored = |((access, row), &step): ((&Access, &Row), &i64)| {
                let row = row.shifted(step * program as i64);
                let (placed, count) = (&access.placed, row.last - row.first);
                placed.writes
                    && hunt::is_special_in_memory(machine, row.allocation, row.offset, placed.kind, count)
            };
            if self.accesses.iter().zip(rows).zip(steps).any(stored) {
                machine.sink.suspects.add(machine.linear + program);
            }
        }
    }
}
