//! The interpreter: runs a kernel on the CPU and checks every access.
//!
//! ```text
//! IR ──lower──▶ virtual tape ──optimise, plan──▶ tape ──schedule──▶ machines (one per worker) ──▶ sinks ──report──▶ findings
//! ```
//!
//! [`Prepared::new`] lowers a kernel for a launch; [`Prepared::run`] runs the grid on the launch's
//! memory. Neither prints, reads a file, or knows the time. The same input gives the same bits and the
//! same findings for any number of threads, but for what programs that race leave in memory; the races are findings.

pub mod access;
pub mod ahead;
pub mod analysis;
pub mod births;
pub mod checks;
pub mod exact;
pub mod explain;
pub mod forms;
pub mod frame;
pub mod hunt;
pub mod initialised;
pub mod kind;
pub mod lanes;
mod listing;
pub mod lower;
pub mod machine;
pub mod names;
pub mod num;
pub mod optimise;
pub mod ordered;
pub mod plan;
pub mod poison;
pub mod print;
pub mod ptx;
pub mod races;
pub mod report;
pub mod reread;
pub mod schedule;
pub mod seen;
pub mod simd;
pub mod sink;
pub mod stepping;
pub mod steps;
pub mod stored;
pub mod taint;
pub mod tape;
pub mod target;
pub mod tensor_memory;
pub use tilescope_launch::view;
pub mod stretch;
pub mod written;

use analysis::pointees::Pointees;
use std::sync::atomic::AtomicBool;
use tilescope_diagnostics::{Check, CheckSet, Error, Finding, Printed, Result};
use tilescope_ir::attrs::{ReduceKind, RmwKind};
use tilescope_ir::{Attrs, FuncId, Module};
use tilescope_launch::{Launch, Memory};

/// How a launch is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Worker threads; none for as many as there are cores.
    pub threads: Option<usize>,
    /// The checks that are on. Accesses are bounds-checked all the same; a lane whose fault nobody looks for holds what
    /// the operation gives.
    pub checks: CheckSet,
    /// Operations that one program may execute.
    pub max_steps: u64,
    /// Findings kept.
    pub max_findings: usize,
    /// Bytes that the values of programs that wait for others may take.
    pub suspended_bytes: u64,
    /// The vector instructions to use: results have the same bits with any.
    pub cpu: simd::Cpu,
    /// How the kernel is lowered: results have the same bits either way.
    pub lowering: Lowering,
    /// The GPU that the launch is meant for; what it refuses is a finding.
    pub target: Option<&'static target::Target>,
    /// What lanes without a value hold.
    pub poison: poison::Poison,
}

/// What one look at the accesses of programs finds.
const RACES: &[Check] = &[Check::RaceWriteWrite, Check::RaceReadWrite, Check::BenignRace];

/// What one look at stored values finds.
const BIRTHS: &[Check] = &[Check::NanBorn, Check::InfBorn];

/// How a kernel becomes a tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lowering {
    /// To run: operations are hoisted and fused ([`optimise`]), slots are reused.
    Fast,
    /// To be looked at: an instruction or more for each operation, every value keeps its slot.
    Stepping,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            threads: None,
            checks: CheckSet::ALL,
            max_steps: 100_000_000,
            max_findings: 100,
            suspended_bytes: 1 << 30,
            cpu: simd::Cpu::detect(),
            lowering: Lowering::Fast,
            target: None,
            poison: poison::Poison::Zero,
        }
    }
}

/// Which programs of the grid are run, and in what order. By default all, as their kernel asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Which<'a> {
    /// Only these, by linear number: rising, none twice.
    pub programs: Option<&'a [u64]>,
    /// In an order drawn by this seed: one after the other, or where they wait for each other, in turns.
    pub seed: Option<u64>,
}

/// What the caller can see and do while a launch runs.
pub struct Control<'a> {
    /// Set to stop all programs at their next jump back.
    pub cancel: &'a AtomicBool,
    /// Told now and then how many more programs have ended.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

/// What a run gave.
#[derive(Debug)]
pub struct Outcome {
    /// What the checks found, sorted by first program, then position.
    pub findings: Vec<Finding>,
    /// For each finding, where it was made, if that can be explained ([`Prepared::explain`]).
    pub causes: Vec<Option<explain::Cause>>,
    /// Where each finding stands among the others.
    orders: Vec<report::Order>,
    /// Programs that stored a NaN or an infinity, and were not looked at again yet.
    suspects: hunt::Suspects,
    /// Which program wrote what, where that was noted to find races.
    pub writers: races::Noted,
    /// True when there were more than `max_findings`.
    pub findings_cut: bool,
    /// What the kernel printed, in program order.
    pub prints: Vec<Printed>,
    /// Programs that were run.
    pub programs: u64,
    /// True when the run was cancelled.
    pub interrupted: bool,
}

impl Outcome {
    /// Adds findings to their places, as far as there is room.
    fn add(&mut self, found: Vec<report::Found>, most: usize) {
        let known = self
            .findings
            .drain(..)
            .zip(self.causes.drain(..))
            .zip(self.orders.drain(..));
        let known = known.map(|((finding, cause), order)| report::Found {
            order,
            finding,
            cause,
        });
        let mut all: Vec<report::Found> = known.chain(found).collect();
        // Those of the whole launch stay in their order.
        all.sort_by_key(|one| one.order);
        self.findings_cut |= all.len() > most;
        for one in all.into_iter().take(most) {
            self.findings.push(one.finding);
            self.causes.push(one.cause);
            self.orders.push(one.order);
        }
    }
}

/// The tape that a launch is run with.
///
/// # Errors
/// Unsupported operations, by name and place.
pub fn tape(module: &Module, kernel: FuncId, launch: &Launch, options: Options) -> Result<tape::Tape> {
    let mut lowered = lower::lower(module, kernel, launch, options)?;
    if options.lowering == Lowering::Fast {
        optimise::optimise(&mut lowered, launch.grid, options.poison, options.cpu);
    }
    Ok(plan::plan(lowered, options.lowering == Lowering::Fast))
}

/// A kernel lowered for a launch.
#[derive(Debug)]
pub struct Prepared<'m> {
    module: &'m Module,
    kernel: FuncId,
    launch: &'m Launch,
    options: Options,
    tape: tape::Tape,
}

impl<'m> Prepared<'m> {
    /// Lowers a kernel of a verified module for a launch.
    ///
    /// # Errors
    /// Unsupported operations, by name and place.
    pub fn new(
        module: &'m Module,
        kernel: FuncId,
        launch: &'m Launch,
        options: Options,
    ) -> Result<Prepared<'m>> {
        Ok(Prepared {
            module,
            kernel,
            launch,
            options,
            tape: tape(module, kernel, launch, options)?,
        })
    }

    /// The tape as text, with the frame's size.
    pub fn listing(&self) -> String {
        listing::listing(self.module, &self.tape)
    }

    /// True if the kernel adds floats by atomics: sums then depend on the order of programs in their last bits.
    pub fn adds_floats(&self) -> bool {
        self.module.funcs.iter().any(|(_, function)| {
            function.ops.iter().any(|(_, op)| match op.attrs {
                Attrs::Rmw(kind, ..) => kind == RmwKind::Fadd,
                Attrs::DescriptorReduce(kind) => kind == ReduceKind::Add,
                _ => false,
            })
        })
    }

    /// Programs in the grid.
    pub fn programs(&self) -> u64 {
        self.launch
            .grid
            .iter()
            .fold(1, |count: u64, &n| count.saturating_mul(n))
    }

    /// Runs the grid.
    ///
    /// # Errors
    /// Too many programs wait for others at once.
    pub fn run(&self, memory: &mut Memory, control: &Control<'_>) -> Result<Outcome> {
        self.run_which(memory, control, Which::default())
    }

    /// Runs some programs of the grid, or all in another order.
    ///
    /// Of some programs only, nothing is judged that depends on all: races and unwritten outputs.
    ///
    /// # Errors
    /// As [`run`](Prepared::run).
    pub fn run_which(&self, memory: &mut Memory, control: &Control<'_>, which: Which<'_>) -> Result<Outcome> {
        let storage = memory;
        let checks = self.options.checks;
        let mut memory = access::Memory::new(self.launch, storage, checks, control.cancel);
        memory.watch_reads(self.launch, &self.tape);
        memory.poison = self.options.poison;
        memory.specials = checks.any(BIRTHS);
        if checks.any(RACES) {
            memory.races = races::Watch::new(races::watched(&self.tape.touched, self.programs()));
        }
        let (max_steps, cpu) = (self.options.max_steps, self.options.cpu);
        let mut context = machine::Context::new(&self.tape, self.launch.grid, memory, max_steps, cpu);
        let limits = schedule::Limits {
            suspended_bytes: self.options.suspended_bytes,
        };
        let go = || match which {
            Which {
                programs: Some(programs),
                ..
            } => schedule::run_chosen(&context, programs, limits, control.progress),
            Which { seed: Some(seed), .. } => {
                schedule::run_shuffled(&context, self.programs(), seed, limits, control.progress)
            }
            _ => schedule::run(&context, self.programs(), limits, control.progress),
        };
        let mut ran = match self.options.threads {
            None => go(),
            Some(threads) => rayon::ThreadPoolBuilder::new()
                .num_threads(threads.max(1))
                .build()
                .map_err(|error| Error::input(format!("cannot start {threads} threads: {error}")))?
                .install(go),
        }
        .map_err(|message| Error::unsupported(message).help("raise the limit for suspended programs"))?;
        let whole = !ran.interrupted && !ran.cut && ran.programs == self.programs();
        let races = match whole {
            true => self.races(&mut context, &mut ran, limits),
            false => Vec::new(),
        };
        let suspected = !ran.interrupted && !ran.sink.suspects.is_empty();
        let hunts = suspected && self.is_repeatable();
        let stepping = match hunts {
            true => Some(tape(self.module, self.kernel, self.launch, self.stepping())?),
            false => None,
        };
        let mut memory = context.memory;
        if let Some(stepping) = &stepping {
            memory = self.hunt(memory, stepping, &mut ran.sink);
        }
        let reporter = report::Reporter {
            module: self.module,
            kernel: self.kernel,
            launch: self.launch,
            tape: &self.tape,
            memory: &memory,
        };
        let asks = whole && checks.contains(Check::UnwrittenOutput);
        let mut found = reporter.found(&mut ran.sink, &races, asks);
        if let Some(target) = self
            .options
            .target
            .filter(|_| checks.contains(Check::TargetLimit))
        {
            let refused = checks::target_limit::findings(&reporter, target);
            found.extend(refused.into_iter().map(report::Found::of_launch));
        }
        found.retain(|one| checks.contains(one.finding.check));
        let prints = reporter.prints(&ran.sink);
        for (allocation, log) in storage.allocations.iter_mut().zip(&mut ran.sink.written) {
            if let Some(log) = log {
                std::mem::take(&mut allocation.written)
                    .iter()
                    .for_each(|&(start, end)| log.add(start, end));
                allocation.written = log.ranges().to_vec();
            }
        }
        let mut outcome = Outcome {
            findings: Vec::new(),
            causes: Vec::new(),
            orders: Vec::new(),
            suspects: match suspected {
                true => std::mem::take(&mut ran.sink.suspects),
                false => hunt::Suspects::default(),
            },
            writers: std::mem::take(&mut ran.sink.noted),
            findings_cut: false,
            prints,
            programs: ran.programs,
            interrupted: ran.interrupted,
        };
        outcome.add(found, self.options.max_findings);
        Ok(outcome)
    }

    /// For so many allocations, whether a launch may both read and change them: those that it does not, it leaves with the same
    /// bytes when it runs again on what it left.
    pub fn carried(&self, allocations: usize) -> Vec<bool> {
        let touched = Pointees::of(self.module, self.kernel, self.launch).touched(self.module);
        let changed = touched.stored.both(touched.loaded).union(touched.updated);
        (0..allocations).map(|i| changed.contains(i)).collect()
    }

    /// True if a program can be run again on what the launch left: otherwise, what is read after it is written would
    /// be another, and updates would add up.
    fn is_repeatable(&self) -> bool {
        let touched = &self.tape.touched;
        let apart = touched.stored.both(touched.loaded).is_empty() && touched.updated.is_empty();
        apart && self.tape.order != tape::Order::Cooperative
    }

    fn stepping(&self) -> Options {
        Options {
            lowering: Lowering::Stepping,
            ..self.options
        }
    }

    /// Races of a launch that has run, and whether all that race write equal bytes, which nobody reads.
    fn races(
        &self,
        context: &mut machine::Context<'_>,
        ran: &mut schedule::Ran,
        limits: schedule::Limits,
    ) -> Vec<(races::Race, bool)> {
        let found = match context.cooperative {
            true => std::mem::take(&mut ran.races),
            false => ran.sink.noted.races(),
        };
        // Who reads what another program writes, and nobody wrote before, has one fault: the race.
        let read = &found.read;
        ran.sink.entries.retain(|key, entry| match entry.detail {
            sink::Detail::Undefined {
                born, from: Some(_), ..
            } => !read.contains(&(born, key.tensor)),
            _ => true,
        });
        let again = self.is_repeatable() && !found.written.is_empty();
        if again {
            context.memory.compare = Some(races::Compare::new(found.written));
            context.memory.races = races::Watch::default();
            // What it finds is known.
            let _ = schedule::run(context, self.programs(), limits, &|_| {});
        }
        let compare = context.memory.compare.take().filter(|_| again);
        races::one_per_place(found.races)
            .into_iter()
            .map(|race| {
                let equal = compare
                    .as_ref()
                    .is_some_and(|compare| compare.is_equal(race.later.allocation as usize));
                (race, equal)
            })
            .collect()
    }
}
