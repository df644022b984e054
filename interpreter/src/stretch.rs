//! Stretches: neighbouring programs that run as one.
//!
//! A program that is one chain from load to store (`idx = pid * BLOCK + arange(0, BLOCK)`, and so on) does little beside its
//! lanes, but finding its place costs as much as some hundred of them. Its addresses and masks go up evenly with the
//! program's number. So the rows of the first and the last program of a stretch tell that all between are beyond doubt,
//! and each is the one before, so many bytes further on. What each program reads and writes is noted for it, for all of them
//! at once. Where rows begin where the last program's end, all lanes are done as those of one program. Where a place is in
//! doubt (the last programs, whose masks cut lanes off, say) the stretch ends, and programs run one by one.

use crate::frame::Slot;
use crate::machine::Machine;
use crate::optimise::formula::Rule;
use crate::steps::strip::{Line, Of, Turns};
use crate::tape::Inst;

/// Programs of a stretch, at most: an interrupt waits for its end.
const MOST: u64 = 64;

/// Lanes of programs that are taken at once, at least: to take some costs about as much as hundreds.
const LEAST: u64 = 8192;

/// Lanes, times light operations on each, that are done in about 15 µs: to wake a thread and to wait for it takes as much.
const FEW: u64 = 1 << 19;

/// How neighbouring programs of a kernel run as one.
#[derive(Debug)]
pub struct Stretch {
    /// Position of the chain on the tape; what is before it gets numbers of the program.
    chain: usize,
    /// Where the chain finds the number of the program along the first axis.
    number: Slot,
    /// Programs that are worth taking at once.
    least: u64,
    /// Programs that are done before another thread would have woken.
    few: u64,
}

/// The chain that an instruction is, if it goes strip by strip.
fn line(inst: &Inst) -> Option<&Line> {
    inst.step.chain()?.line.as_ref()
}

impl Stretch {
    /// How, if these are numbers of the program, a chain of which only what it stores is left, and the end.
    pub fn of(insts: &[Inst]) -> Option<Stretch> {
        let axis = |inst: &Inst| match inst.step.rule() {
            Some(Rule::Program(axis)) => inst.outs.first().map(|&out| (axis, out)),
            _ => None,
        };
        let numbers: Vec<(usize, Slot)> = insts.iter().map_while(axis).collect();
        let chain = numbers.len();
        let inst = insts.get(chain)?;
        let (members, lanes) = (&inst.step.chain()?.code.insts, inst.step.chain()?.lanes);
        let ends = insts.get(chain + 1).is_some_and(|last| last.step.ends());
        let slots: Vec<Slot> = numbers.iter().map(|number| number.1).collect();
        let mut first = numbers
            .iter()
            .filter(|number| number.0 == 0)
            .map(|number| number.1);
        let number = first.next()?;
        let line = line(inst)?;
        let fits = ends && first.next().is_none() && line.is_same_but_for(members, inst, &slots);
        let least = (LEAST / (lanes as u64).max(1)).clamp(1, MOST);
        let few = match Line::is_light(members) {
            true => FEW / ((lanes * members.len()) as u64).max(1),
            false => 0,
        };
        fits.then_some(Stretch {
            chain,
            number,
            least,
            few,
        })
    }

    /// How many of so many programs are worth taking at once.
    pub fn least(&self, programs: u64) -> u64 {
        if programs <= self.few {
            self.few
        } else {
            self.least
        }
    }

    /// Runs up to `left` programs from the current one on, which has begun: for how many it did all, none if it is to be
    /// run alone.
    pub fn run(&self, machine: &mut Machine<'_>, left: u64) -> u64 {
        let context = machine.context;
        let row = context.grid[0] - u64::from(machine.program[0]).min(context.grid[0]);
        let most = left.min(row).min(MOST);
        let (before, rest) = context.tape.code.insts.split_at(self.chain);
        let Some(inst) = rest.first() else { return 0 };
        let Some((chain, line)) = inst
            .step
            .chain()
            .and_then(|chain| Some((chain, chain.line.as_ref()?)))
        else {
            return 0;
        };
        if most < 2
            || context.grid[0] > i32::MAX as u64
            || chain.is_followed(machine)
            || machine.hunt.is_some()
        {
            return 0;
        }
        for inst in before {
            if inst.step.run(inst, machine).is_err() {
                return 0;
            }
        }
        let turns = Turns {
            scalar: self.number,
            by: 1,
            most,
            of: Of::Programs,
        };
        let done = line.run(&chain.code.insts, inst, machine, chain.lanes, Some(turns));
        if done > 0 {
            machine.follow(done - 1);
        }
        done
    }
}
