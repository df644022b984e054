//! Births of NaN and infinities: the programs that stored one run again, watched by [`crate::hunt`].
//!
//! Where programs read nothing that the launch writes they run on what it left, without storing anything, as a part of
//! the run. Else ([`Outcome::asks_for_births`]) the launch is gone through once more from its arguments as they were, up to
//! the last program that is asked for: those run on the tape for stepping, the others as they did.

use crate::hunt::Hunt;
use crate::machine::{Context, Machine, Rest, Stop};
use crate::sink::Sink;
use crate::steps::atomic;
use crate::tape::{Order, Tape};
use crate::{BIRTHS, Control, Outcome, Prepared, access, races, report, schedule, tape};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use tilescope_diagnostics::{CheckSet, Error, Result};
use tilescope_launch::Memory;

impl Outcome {
    /// True if a NaN or an infinity was stored whose birth only a second run from the beginning can tell
    /// ([`Prepared::births`]).
    pub fn asks_for_births(&self) -> bool {
        !self.suspects.is_empty()
    }
}

impl Prepared<'_> {
    /// Adds what made the NaN and infinities that a run stored, for kernels that read what they write.
    ///
    /// `before` has the arguments as they were before that run; it is run on. `programs` are those that ran, none for all.
    ///
    /// # Errors
    /// Too many programs wait for others at once.
    pub fn births(
        &self,
        outcome: &mut Outcome,
        before: &mut Memory,
        control: &Control<'_>,
        programs: Option<&[u64]>,
    ) -> Result<()> {
        let suspects: BTreeSet<u64> = std::mem::take(&mut outcome.suspects).programs().collect();
        if suspects.is_empty() {
            return Ok(());
        }
        let stepping = tape(self.module, self.kernel, self.launch, self.stepping())?;
        let hunt = Arc::new(Hunt::new(self.module, &stepping));
        let mut memory = access::Memory::new(self.launch, before, CheckSet::of(BIRTHS), control.cancel);
        memory.poison = self.options.poison;
        let stretches = match programs {
            Some(programs) => schedule::stretches(programs),
            None => std::iter::once(0..self.programs()).collect(),
        };
        let mut sink = Sink::default();
        let again = Again {
            prepared: self,
            stepping: &stepping,
            hunt,
            suspects,
        };
        let memory = match stepping.order {
            Order::Cooperative => again.in_turns(memory, stretches, &mut sink)?,
            _ => again.one_by_one(memory, stretches, control, &mut sink)?,
        };
        outcome.interrupted |= memory.interrupted();
        let reporter = report::Reporter {
            module: self.module,
            kernel: self.kernel,
            launch: self.launch,
            tape: &self.tape,
            memory: &memory,
        };
        let mut found = reporter.found(&mut sink, &[], false);
        found.retain(|one| self.options.checks.contains(one.finding.check));
        outcome.add(found, self.options.max_findings);
        Ok(())
    }

    /// Runs programs that stored a NaN or an infinity again on what the launch left, side by side.
    ///
    /// The places of the stepping tape are those of the other: both come from the same operations in the same order.
    pub(crate) fn hunt<'r>(
        &self,
        mut memory: access::Memory<'r>,
        tape: &'r Tape,
        sink: &mut Sink,
    ) -> access::Memory<'r> {
        let hunt = Arc::new(Hunt::new(self.module, tape));
        // Nothing is stored.
        memory.compare = Some(races::Compare::default());
        memory.races = races::Watch::default();
        memory.specials = false;
        let context = self.context_of(tape, memory);
        let programs: Vec<u64> = std::mem::take(&mut sink.suspects).programs().collect();
        let all: Vec<Sink> = programs
            .into_par_iter()
            .map(|program| schedule::run_hunting(&context, program, &hunt))
            .collect();
        all.into_iter().for_each(|found| take_births(found, sink));
        context.memory
    }

    fn context_of<'r>(&self, tape: &'r Tape, memory: access::Memory<'r>) -> Context<'r> {
        let (max_steps, cpu) = (self.options.max_steps, self.options.cpu);
        Context::new(tape, self.launch.grid, memory, max_steps, cpu)
    }

    fn limits(&self) -> schedule::Limits {
        schedule::Limits {
            suspended_bytes: self.options.suspended_bytes,
        }
    }
}

/// Of what a program found, the births.
fn take_births(mut found: Sink, sink: &mut Sink) {
    found.entries.retain(|key, _| BIRTHS.contains(&key.check));
    let mut births = Sink::default();
    births.entries = found.entries;
    sink.merge(births);
}

/// A launch that is gone through again.
struct Again<'a> {
    prepared: &'a Prepared<'a>,
    stepping: &'a Tape,
    hunt: Arc<Hunt>,
    suspects: BTreeSet<u64>,
}

fn unable(message: String) -> Box<Error> {
    Error::unsupported(message).help("raise the limit for suspended programs")
}

impl<'a> Again<'a> {
    /// Programs that wait for each other: all on the tape for stepping, in the turns that they had.
    fn in_turns<'r>(
        &self,
        memory: access::Memory<'r>,
        stretches: Vec<Range<u64>>,
        sink: &mut Sink,
    ) -> Result<access::Memory<'r>>
    where
        'a: 'r,
    {
        let context = self.prepared.context_of(self.stepping, memory);
        let mut open = self.suspects.len();
        let mut drive = |machine: &mut Machine<'_>, position: u32| {
            if !self.suspects.contains(&machine.linear) {
                return machine.resume(position);
            }
            machine.hunt = Some(self.hunt.clone());
            let rest = machine.resume(position);
            machine.hunt = None;
            open -= usize::from(!matches!(rest, Ok(Rest::Yielded(_))));
            // Nobody asks for the rest of the launch.
            if open == 0 { Err(Stop::Interrupted) } else { rest }
        };
        for programs in stretches {
            let ran = schedule::run_watched(&context, programs, self.prepared.limits(), &mut drive);
            let ran = ran.map_err(unable)?;
            take_births(ran.sink, sink);
            if ran.interrupted {
                break;
            }
        }
        Ok(context.memory)
    }

    /// Programs whose order matters, or that update memory: those of interest alone, on the tape for stepping, and between
    /// them the others.
    fn one_by_one<'r>(
        &self,
        mut memory: access::Memory<'r>,
        stretches: Vec<Range<u64>>,
        control: &Control<'_>,
        sink: &mut Sink,
    ) -> Result<access::Memory<'r>>
    where
        'a: 'r,
    {
        for stretch in stretches {
            let mut next = stretch.start;
            for &program in self.suspects.range(stretch) {
                let context = self.prepared.context_of(&self.prepared.tape, memory);
                schedule::run_some(&context, next..program, self.prepared.limits(), &|_| {})
                    .map_err(unable)?;
                if control.cancel.load(std::sync::atomic::Ordering::Relaxed) {
                    return Ok(context.memory);
                }
                let context = self.prepared.context_of(self.stepping, context.memory);
                let mut machine = Machine::new(&context);
                machine.start(program);
                machine.hunt = Some(self.hunt.clone());
                // It ended when it ran first, and does again.
                let _ = machine.resume(0);
                atomic::flush(&mut machine);
                machine.log.apply(&context.memory, u64::MAX);
                context.memory.shared.settle();
                take_births(machine.sink, sink);
                memory = context.memory;
                next = program + 1;
            }
        }
        Ok(memory)
    }
}
