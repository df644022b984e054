//! A straight line for neighbouring programs ([`crate::stretch`]): judged and noted once, and run as one where their lanes
//! lie one behind the other.

use super::{Access, Line, Link, Origin};
use crate::frame::Slot;
use crate::hunt;
use crate::machine::Machine;
use crate::simd::strip::{self, Arith, OPERANDS, Operand, Run, Window};
use crate::steps::chain::MAX_PLACED;
use crate::steps::memory::row::Row;
use crate::tape::Inst;
use std::ops::Range;

impl Line {
    /// True if instructions take about as long as what they read and write does to come and go.
    pub fn is_light(members: &[Inst]) -> bool {
        members.iter().all(|member| match member.step.link() {
            Some(Link::Arith(arith)) => !matches!(arith, Arith::Div | Arith::DivInto),
            Some(Link::Load(_) | Link::Store(_) | Link::Select | Link::Narrow(_)) => true,
            _ => false,
        })
    }

    /// Runs it for up to `most` programs, from the current one on, whose number is in a slot: for how many, none if it is
    /// to be asked one by one.
    pub fn run_stretch(
        &self,
        members: &[Inst],
        inst: &Inst,
        machine: &mut Machine<'_>,
        (lanes, scalar, most): (usize, Slot, u64),
    ) -> u64 {
        let context = machine.context;
        let shared = &context.memory.shared;
        let mut rows = [Row::EMPTY; MAX_PLACED];
        let rows = &mut rows[..self.accesses.len()];
        let mut windows = [Window::EMPTY; MAX_PLACED];
        let windows = &mut windows[..self.accesses.len()];
        let mut ranges = [(0, 0); OPERANDS];
        let ranges = &mut ranges[..self.masks.len()];
        if !self.windows(members, machine, rows, windows) || !self.ranges(inst, machine, lanes, ranges) {
            return 0;
        }
        let mut steps = [0; MAX_PLACED];
        let mut count = most;
        for ((step, access), row) in steps.iter_mut().zip(&self.accesses).zip(&*rows) {
            let member = &members[access.member];
            let Some((found, more)) = access.placed.step(member, machine, row, scalar, count - 1) else {
                return 0;
            };
            (*step, count) = (found, more + 1);
        }
        // Rows of one allocation must stay as they are to each other.
        let clash = |i: usize, j: usize| rows[i].allocation == rows[j].allocation && steps[i] != steps[j];
        let written = || (0..rows.len()).filter(|&i| self.accesses[i].placed.writes);
        if written().any(|i| (0..rows.len()).any(|j| clash(i, j))) {
            return 0;
        }
        // Nothing but what it stores is left of it.
        let [pass] = &self.passes[..] else { return 0 };
        let (mut part, mut alike) = self.part(inst, machine, lanes, (pass, windows, ranges));
        let mut operands = [Operand::Uniform(0.0, 0.0); OPERANDS];
        let operands = &mut operands[..self.operands.len()];
        for (operand, &of) in operands.iter_mut().zip(&self.operands) {
            let Origin::Outside(of) = of else { return 0 };
            let Some(bits) = machine.frame.uniform(inst.ins[of]) else {
                return 0;
            };
            *operand = Operand::uniform(f32::from_bits(bits as u32));
        }
        // Rows that begin where the last program's end, of whole tiles, are one row. Of one store, what is in memory
        // afterwards tells which programs stored a NaN or an infinity.
        let joins =
            |(row, &step): (&Row, &i64)| (row.first, row.last) == (0, lanes) && step == row.bytes() as i64;
        let joined = rows.iter().zip(&steps).all(joins)
            && ranges.iter().all(|&range| range == (0, lanes))
            && written().count() == 1;
        let group = if joined { count } else { 1 };
        for ((access, row), &step) in self.accesses.iter().zip(&*rows).zip(&steps) {
            let member = &members[access.member];
            access.placed.note(member, machine, row, (step, count));
        }
        let mut scratch = machine.strip.take().unwrap_or_default();
        for done in (0..count).step_by(group as usize) {
            let programs = group.min(count - done) as usize;
            for (i, access) in self.accesses.iter().enumerate() {
                let one = rows[i].shifted(steps[i] * done as i64);
                let row = if joined { one.repeated(programs) } else { one };
                // Rows that go on and on need no asking for.
                if !joined {
                    access.placed.expect(&members[access.member], machine, &row);
                }
                let Some(span) = shared.span(row.allocation, row.offset, row.bytes()) else {
                    continue;
                };
                let streams = access.placed.writes && shared.streams(row.allocation, one.bytes());
                windows[i] = windows[i].at(span, row.first..row.last, streams);
            }
            if joined {
                alike = lanes * programs;
                part = 0..alike;
                ranges.fill((0, alike));
            }
            let mut ahead = std::mem::take(&mut machine.frame.ahead);
            let special = strip::run(
                context.cpu,
                &pass.ops,
                &mut Run {
                    lanes: part.clone(),
                    alike,
                    operands,
                    windows,
                    ranges,
                    results: &mut [],
                    folds: &mut [],
                    ahead: (&mut ahead, pass.lines),
                    specials: context.memory.specials,
                    scratch: &mut scratch,
                },
            );
            machine.frame.ahead = ahead;
            if special {
                self.suspect(machine, rows, &steps, done..done + programs as u64);
            }
        }
        machine.strip = Some(scratch);
        machine.follow(count - 1);
        count
    }

    /// Notes which programs stored a NaN or an infinity, of some that follow the current one: one did.
    #[cold]
    fn suspect(&self, machine: &mut Machine<'_>, rows: &[Row], steps: &[i64], some: Range<u64>) {
        let alone = some.end - some.start == 1;
        for program in some {
            let stored = |((access, row), &step): ((&Access, &Row), &i64)| {
                let row = row.shifted(step * program as i64);
                let (placed, count) = (&access.placed, row.last - row.first);
                placed.writes
                    && hunt::is_special_in_memory(machine, row.allocation, row.offset, placed.kind, count)
            };
            if alone || self.accesses.iter().zip(rows).zip(steps).any(stored) {
                machine.sink.suspects.add(machine.linear + program);
            }
        }
    }
}
