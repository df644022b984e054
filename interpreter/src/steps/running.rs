//! A scan of a row that goes from memory to memory: its load and its store are joined to it ([`crate::optimise::running`]).
//!
//! No tile is made, and nothing passes over the row but the scan. Neighbouring programs that do nothing else go side by
//! side, as those of a stretch ([`crate::stretch`]) do: the rows of the first and the last one tell that all between are
//! beyond doubt. Where anything is in doubt the load, the scan and the store run one after the other.

use crate::frame::Slot;
use crate::machine::{Flow, Machine, Stop};
use crate::optimise::formula::Rule;
use crate::simd::running::ROWS;
use crate::steps::fold::RunningRows;
use crate::steps::memory::placed::is_followed;
use crate::steps::memory::row::{Placed, Row};
use crate::steps::strip::Of;
use crate::tape::{Code, Inst, Step};
use crate::tensor_memory::Span;

/// Programs that go on together, at most: an interrupt waits for their end.
const MOST: u64 = 64;

/// A load, a scan and a store of a row.
#[derive(Debug)]
pub struct Running {
    load: Placed,
    store: Placed,
    rows: RunningRows,
    /// All three, once they are joined.
    pub code: Code,
}

impl Running {
    /// What a load, a scan of what it gives and a store of what that gives are together, if they are of one row.
    pub fn of(load: &Inst, scan: &Inst, store: &Inst) -> Option<Running> {
        let rows = scan.step.running_rows()?;
        let from = load.step.placed_load().filter(|load| !load.place.turned)?;
        let to = store.step.placed().filter(|to| to.writes)?;
        let fits = from.kind == to.kind && from.place.rows == 1 && to.place.rows == 1;
        fits.then_some(Running {
            load: from.placed(),
            store: to,
            rows,
            code: Code::default(),
        })
    }

    /// Runs it for the current program and those that follow, up to `most` of them, where a slot has the number of the
    /// program: for how many it did, none if something is in doubt.
    fn run_rows(&self, machine: &mut Machine<'_>, most: Option<(Slot, u64)>) -> u64 {
        let [load, _, store] = &self.code.insts[..] else {
            return 0;
        };
        if is_followed(machine) || machine.hunt.is_some() {
            return 0;
        }
        let context = machine.context;
        let shared = &context.memory.shared;
        let rows = self.load.row(load, machine).zip(self.store.row(store, machine));
        let Some((from, to)) = rows else { return 0 };
        // What is stored must depend on nothing but what is loaded.
        let covers = from.first == 0 && to.first == 0 && 0 < to.last && to.last <= from.last;
        let span = |row: &Row| shared.span(row.allocation, row.offset, row.bytes());
        if !covers || !from.is_apart(&to) || span(&from).is_none() || span(&to).is_none() {
            return 0;
        }
        let mut count = 1;
        let mut steps = [0, 0];
        if let Some((scalar, most)) = most {
            let [from_step, to_step] = [
                self.load.step(load, machine, &from, (scalar, 1, most - 1)),
                self.store.step(store, machine, &to, (scalar, 1, most - 1)),
            ];
            let (Some((from_step, a)), Some((to_step, b))) = (from_step, to_step) else {
                return 0;
            };
            // No program may touch what another one writes: they do not end one after the other.
            let same = from.allocation != to.allocation || from == to && from_step == to_step;
            if !same || to_step.unsigned_abs() < to.bytes() as u64 {
                return 0;
            }
            (count, steps) = (a.min(b) + 1, [from_step, to_step]);
        }
        self.load
            .note(load, machine, &from, (steps[0], count, Of::Programs));
        self.store
            .note(store, machine, &to, (steps[1], count, Of::Programs));
        for done in (0..count).step_by(ROWS) {
            let programs = (count - done).min(ROWS as u64) as usize;
            let mut spans = [[Span::EMPTY; 2]; ROWS];
            for (i, spans) in spans[..programs].iter_mut().enumerate() {
                let at = (done + i as u64) as i64;
                let both = [(&from, steps[0]), (&to, steps[1])];
                // Both are there, as the first ones are.
                *spans = both.map(|(row, step)| span(&row.shifted(step * at)).unwrap_or(Span::EMPTY));
            }
            let special = (self.rows)(context.cpu, &spans[..programs], to.last);
            if context.memory.specials {
                for (i, _) in special[..programs]
                    .iter()
                    .enumerate()
                    .filter(|(_, special)| **special)
                {
                    machine.sink.suspects.add(machine.linear + done + i as u64);
                }
            }
        }
        count
    }
}

impl Step for Running {
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        if self.run_rows(machine, None) > 0 {
            machine.steps += 2;
            return Ok(Flow::Next);
        }
        machine.steps -= 1;
        let ran = machine.run_nested(&self.code);
        machine.at = inst.at;
        ran.map(|()| Flow::Next)
    }

    fn reads_forms(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        String::from("Scan, from memory to memory,")
    }

    /// The nested instructions carry births.
    fn taint(&self, _: &Inst, _: &mut Machine<'_>) {}

    /// So do they with what wrapped around.
    fn exact(&self, _: &Inst, _: &mut Machine<'_>) {}

    fn running(&self) -> Option<&Running> {
        Some(self)
    }

    fn nested(&self) -> Option<&Code> {
        Some(&self.code)
    }

    fn nested_mut(&mut self) -> Option<&mut Code> {
        Some(&mut self.code)
    }
}

/// How neighbouring programs that scan a row each, and do nothing else, go side by side.
#[derive(Debug)]
pub struct Neighbours {
    /// Position of the scan on the tape; what is before it gets numbers of the program.
    scan: usize,
    /// Where it finds the number of the program along the first axis.
    number: Slot,
}

impl Neighbours {
    /// How, if these are numbers of the program, one of them along the first axis, a scan, and the end.
    pub fn of(insts: &[Inst]) -> Option<Neighbours> {
        let axis = |inst: &Inst| match inst.step.rule() {
            Some(Rule::Program(axis)) => inst.outs.first().map(|&out| (axis, out)),
            _ => None,
        };
        let numbers: Vec<_> = insts.iter().map_while(axis).collect();
        let scan = numbers.len();
        let mut first = numbers.iter().filter(|number| number.0 == 0);
        let (number, others) = (first.next()?.1, first.next());
        insts.get(scan)?.step.running()?;
        let ends = insts.get(scan + 1).is_some_and(|last| last.step.ends());
        (ends && others.is_none()).then_some(Neighbours { scan, number })
    }

    /// Runs up to `left` programs from the current one on, which has begun: for how many it did all, none if it is to be
    /// run alone.
    pub fn run(&self, machine: &mut Machine<'_>, left: u64) -> u64 {
        let context = machine.context;
        let row = context.grid[0] - u64::from(machine.program[0]).min(context.grid[0]);
        let most = left.min(row).min(MOST);
        if most < ROWS as u64 || context.grid[0] > i32::MAX as u64 {
            return 0;
        }
        let (before, rest) = context.tape.code.insts.split_at(self.scan);
        let Some(running) = rest.first().and_then(|inst| inst.step.running()) else {
            return 0;
        };
        for inst in before {
            if inst.step.run(inst, machine).is_err() {
                return 0;
            }
        }
        let count = running.run_rows(machine, Some((self.number, most)));
        machine.follow(count.saturating_sub(1));
        count
    }
}
