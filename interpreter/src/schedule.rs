//! In what order the programs of a grid run.
//!
//! Most kernels' programs are independent and run in parallel, in chunks that workers take as they go. A
//! kernel that uses the result of an atomic, or loads volatile, runs on one worker in one
//! deterministic interleaving: each program runs until it ends or goes round a loop that synchronises,
//! then the next one does. Float atomics are applied in program order: programs run in parallel and write them
//! down, a wave of programs at a time, where nothing else touches their tensors. So neither outputs nor
//! findings depend on the number of threads.

use crate::hunt::Hunt;
use crate::machine::{Context, Machine, Rest, Stop};
use crate::races::Found;
use crate::simd::running::ROWS;
use crate::sink::{Detail, Key, Sink};
use crate::steps::atomic;
use crate::tape::{At, Order};
use rayon::prelude::*;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tilescope_diagnostics::Check;

/// What running a grid gave.
#[derive(Debug)]
pub struct Ran {
    /// All workers' findings.
    pub sink: Sink,
    /// Programs that were run to their end (or were stopped by a limit).
    pub programs: u64,
    /// The launch was interrupted.
    pub interrupted: bool,
    /// A program was stopped by a limit.
    pub cut: bool,
    /// Races of programs that synchronise; others are found from what the sink noted.
    pub races: Found,
}

/// Limits that hold for a whole launch.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes that suspended programs' frames may take.
    pub suspended_bytes: u64,
}

/// The first program that hit a limit: later ones do not count.
#[derive(Debug)]
struct Cut(AtomicU64);

impl Cut {
    fn at(&self, linear: u64) {
        self.0.fetch_min(linear, Ordering::Relaxed);
    }

    fn is_past(&self, linear: u64) -> bool {
        linear > self.0.load(Ordering::Relaxed)
    }
}

/// Runs all programs (linear numbers `0..count`); `progress` is told how many ended.
pub fn run(
    context: &Context<'_>,
    count: u64,
    limits: Limits,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Ran, String> {
    run_some(context, 0..count, limits, progress)
}

/// Runs the programs with these linear numbers, rising.
pub fn run_chosen(
    context: &Context<'_>,
    programs: &[u64],
    limits: Limits,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Ran, String> {
    let mut all = Ran {
        sink: Sink::new(&context.memory),
        programs: 0,
        interrupted: false,
        cut: false,
        races: Found::default(),
    };
    for stretch in stretches(programs) {
        let ran = run_some(context, stretch, limits, progress)?;
        all.sink.merge(ran.sink);
        all.programs += ran.programs;
        all.interrupted |= ran.interrupted;
        all.cut |= ran.cut;
        if all.interrupted || all.cut {
            break;
        }
    }
    Ok(all)
}

/// Programs, rising, as stretches of neighbours.
pub fn stretches(programs: &[u64]) -> Vec<Range<u64>> {
    let neighbours = programs.chunk_by(|a, b| a + 1 == *b);
    let stretch = |chunk: &[u64]| Some(*chunk.first()?..*chunk.last()? + 1);
    neighbours.filter_map(stretch).collect()
}

/// Runs one program alone, to see which operations make NaN or infinities; gives what was found.
pub fn run_hunting(context: &Context<'_>, program: u64, hunt: &Arc<Hunt>) -> Sink {
    let mut machine = Machine::new(context);
    machine.start(program);
    machine.hunt = Some(hunt.clone());
    // It ended when it ran first, and does again.
    let _ = machine.resume(0);
    machine.sink
}

/// Runs a program from a position on until it ends or gives way.
pub type Drive<'d> = dyn FnMut(&mut Machine<'_>, u32) -> Result<Rest, Stop> + 'd;

fn resume(machine: &mut Machine<'_>, position: u32) -> Result<Rest, Stop> {
    machine.resume(position)
}

/// Runs programs that wait for each other, in the order that they have in a launch, each by `drive`.
pub fn run_watched(
    context: &Context<'_>,
    programs: Range<u64>,
    limits: Limits,
    drive: &mut Drive<'_>,
) -> Result<Ran, String> {
    let cut = Cut(AtomicU64::new(u64::MAX));
    cooperative(context, &mut { programs }, limits, &cut, &|_| {}, None, drive)
}

/// Runs all programs on one worker, in an order drawn by a seed.
pub fn run_shuffled(
    context: &Context<'_>,
    count: u64,
    seed: u64,
    limits: Limits,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Ran, String> {
    let mut random = Random(seed);
    let mut order: Vec<u64> = (0..count).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, random.below(i as u64 + 1) as usize);
    }
    let cut = Cut(AtomicU64::new(u64::MAX));
    let mut ran = match context.cooperative {
        true => cooperative(
            context,
            &mut order.into_iter(),
            limits,
            &cut,
            progress,
            Some(random),
            &mut resume,
        )?,
        false => one_by_one(context, &mut order.into_iter(), &cut, progress),
    };
    ran.cut = cut.0.load(Ordering::Relaxed) != u64::MAX;
    Ok(ran)
}

/// Numbers drawn by a seed (SplitMix64, Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
}

/// Runs the programs with these linear numbers, as a part of the whole.
pub fn run_some(
    context: &Context<'_>,
    programs: Range<u64>,
    limits: Limits,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Ran, String> {
    let cut = Cut(AtomicU64::new(u64::MAX));
    let end = programs.end;
    let mut ran = match context.tape.order {
        Order::Parallel => parallel(context, programs, &cut, progress),
        Order::Logged => logged(context, programs, &cut, progress),
        Order::Sequential => one_by_one(context, &mut { programs }, &cut, progress),
        Order::Cooperative => cooperative(
            context,
            &mut { programs },
            limits,
            &cut,
            progress,
            None,
            &mut resume,
        )?,
    };
    let last = cut.0.load(Ordering::Relaxed);
    ran.cut = last != u64::MAX;
    if ran.cut && last + 1 < end {
        ran.sink.cut(last);
    }
    ran.sink.prints.sort_by_key(|print| print.linear);
    Ok(ran)
}

fn parallel(context: &Context<'_>, programs: Range<u64>, cut: &Cut, progress: &(dyn Fn(u64) + Sync)) -> Ran {
    let threads = rayon::current_num_threads().max(1) as u64;
    let count = programs.end.saturating_sub(programs.start);
    // Least programs that are worth taking, and of how many they should be a multiple.
    let (least, group) = match (&context.tape.stretch, &context.tape.neighbours) {
        (Some(stretch), _) => (stretch.least(count), 1),
        (None, Some(_)) => (ROWS as u64, ROWS as u64),
        (None, None) => (1, 1),
    };
    let next = AtomicU64::new(programs.start);
    let ran: Mutex<(Option<Sink>, u64, bool)> = Mutex::new((None, 0, false));
    let work = || {
        let mut machine = Machine::new(context);
        let (mut all, mut stopped) = (0, false);
        while let Some(chunk) = claim(&next, programs.end, threads, (least, group)).filter(|_| !stopped) {
            let (done, by_limit) = run_chunk(&mut machine, chunk, cut);
            progress(done);
            all += done;
            stopped |= by_limit;
        }
        atomic::flush(&mut machine);
        if let Ok(mut ran) = ran.lock() {
            let (sink, programs, interrupted) = &mut *ran;
            match sink {
                Some(sink) => sink.merge(machine.sink),
                None => *sink = Some(machine.sink),
            }
            *programs += all;
            *interrupted |= stopped;
        }
    };
    let workers = threads.min(count.div_ceil(least));
    match workers {
        // Not worth waking another thread.
        0 | 1 => work(),
        _ => rayon::scope(|scope| {
            (1..workers).for_each(|_| scope.spawn(|_| work()));
            work();
        }),
    }
    let (sink, programs, interrupted) = ran.into_inner().unwrap_or_default();
    Ran {
        sink: sink.unwrap_or_else(|| Sink::new(&context.memory)),
        programs,
        interrupted,
        cut: false,
        races: Found::default(),
    }
}

/// Most programs that a worker takes at once.
const MOST: u64 = 4096;

/// The next programs that nobody took, fewer the fewer are left, but so many at least: so workers end together, whatever a program costs, and
/// taking some costs nothing beside them. As long as more are left, they are whole groups.
fn claim(next: &AtomicU64, end: u64, threads: u64, (least, group): (u64, u64)) -> Option<Range<u64>> {
    let share = |first: u64| end.saturating_sub(first) / (8 * threads) / group * group;
    let count = |first: u64| share(first).clamp(least.min(MOST), MOST);
    let taken = next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |first| {
        (first < end).then(|| (first + count(first)).min(end))
    });
    let first = taken.ok()?;
    Some(first..(first + count(first)).min(end))
}

/// Runs programs one after the other: how many ended, and whether the launch was interrupted.
fn run_chunk(machine: &mut Machine<'_>, programs: Range<u64>, cut: &Cut) -> (u64, bool) {
    let (mut done, mut stopped) = (0, false);
    let (mut linear, end) = (programs.start, programs.end);
    while linear < end {
        if machine.context.memory.interrupted() {
            stopped = true;
            break;
        }
        if cut.is_past(linear) {
            break;
        }
        machine.start(linear);
        let (tape, left) = (machine.context.tape, end - linear);
        let together = match (&tape.stretch, &tape.neighbours) {
            (Some(stretch), _) => stretch.run(machine, left),
            (None, Some(neighbours)) => neighbours.run(machine, left),
            (None, None) => 0,
        };
        let count = match together {
            0 => {
                let rest = machine.resume(0);
                stopped |= finish(machine, rest, cut);
                1
            }
            count => count,
        };
        done += count;
        linear += count;
    }
    machine.context.memory.shared.settle();
    (done, stopped)
}

/// Bytes of updates that are written down before they are applied, about.
const LOG_BYTES: usize = 32 << 20;

/// In parallel, but for updates of memory: those of a wave of programs are written down and then applied in
/// program order.
fn logged(context: &Context<'_>, range: Range<u64>, cut: &Cut, progress: &(dyn Fn(u64) + Sync)) -> Ran {
    let end = range.end;
    let threads = rayon::current_num_threads().max(1);
    let mut machines: Vec<Machine<'_>> = (0..threads).map(|_| Machine::new(context)).collect();
    let (mut programs, mut interrupted) = (0, false);
    let (mut next, mut share) = (range.start, 1);
    while next < end && !interrupted && !cut.is_past(next) {
        // Each worker takes neighbours, so that its log is in order, and the logs are.
        let ran: Vec<(u64, bool)> = machines
            .par_iter_mut()
            .enumerate()
            .map(|(i, machine)| {
                let first = (next + i as u64 * share).min(end);
                run_chunk(machine, first..(first + share).min(end), cut)
            })
            .collect();
        let (mut bytes, last) = (0, cut.0.load(Ordering::Relaxed));
        for machine in &mut machines {
            machine.log.apply(&context.memory, last);
            bytes = bytes.max(machine.log.bytes());
            machine.log.clear();
        }
        next += threads as u64 * share;
        let done = ran.iter().map(|r| r.0).sum();
        programs += done;
        interrupted |= ran.iter().any(|r| r.1);
        progress(done);
        // As many programs as fill the log, but not at once: the first ones may be untypical.
        let fit = (LOG_BYTES / threads / (bytes / share as usize).max(1)) as u64;
        share = fit.clamp(1, 4 * share);
    }
    let mut sink = Sink::new(&context.memory);
    for machine in machines {
        sink.merge(machine.sink);
    }
    Ran {
        sink,
        programs,
        interrupted,
        cut: false,
        races: Found::default(),
    }
}

/// Notes how a program ended; true if the launch was interrupted.
fn finish(machine: &mut Machine<'_>, rest: Result<Rest, Stop>, cut: &Cut) -> bool {
    match rest {
        Ok(_) => false,
        Err(Stop::Interrupted) => true,
        Err(Stop::StepLimit(at)) => {
            step_limit(machine, at);
            cut.at(machine.linear);
            false
        }
    }
}

/// Notes that the program executed more operations than it may.
pub fn step_limit(machine: &mut Machine<'_>, at: At) {
    let limit = machine.context.max_steps;
    machine.sink.report(
        Key {
            check: Check::StepLimit,
            at,
            tensor: 0,
        },
        1,
        || Detail::Steps(limit),
    );
}

fn one_by_one(
    context: &Context<'_>,
    order: &mut dyn Iterator<Item = u64>,
    cut: &Cut,
    progress: &(dyn Fn(u64) + Sync),
) -> Ran {
    let mut machine = Machine::new(context);
    let (mut programs, mut interrupted) = (0, false);
    for linear in order {
        if interrupted || cut.is_past(linear) {
            break;
        }
        machine.start(linear);
        let rest = machine.resume(0);
        interrupted = finish(&mut machine, rest, cut) || context.memory.interrupted();
        machine.log.apply(&context.memory, u64::MAX);
        machine.log.clear();
        programs += 1;
        progress(1);
    }
    atomic::flush(&mut machine);
    Ran {
        sink: machine.sink,
        programs,
        interrupted,
        cut: false,
        races: Found::default(),
    }
}

/// A program that gave way.
struct Suspended {
    linear: u64,
    position: u32,
    steps: u64,
    /// The atomic or volatile load that it waits by.
    by: At,
    frame: crate::frame::Frame,
    taint: crate::taint::Taint,
    exact: crate::exact::Exact,
    reread: crate::reread::Reread,
    /// Version of the memory, and what its values were.
    seen: (u64, u64),
    /// Looks at that version.
    looks: u64,
}

/// Programs that gave way.
///
/// A program that comes back to a position with the same values while no program wrote goes round in vain
/// until one does: it is parked until then. Where all are, nobody can go on: a deadlock.
#[derive(Default)]
struct Waiting {
    /// Those that may go on, in turn.
    ready: VecDeque<Suspended>,
    /// Those that wait in vain while memory stays as it is.
    parked: Vec<Suspended>,
    /// Bytes of all their values.
    held: u64,
    /// Times that memory may have changed.
    version: u64,
    /// Turns since then.
    idle: usize,
}

/// Turns without a write, beside some of every program, before programs are looked at closely.
const PATIENCE: usize = 1024;

impl Waiting {
    /// A program wrote, began or ended.
    fn changed(&mut self) {
        self.version += 1;
        self.idle = 0;
        self.ready.extend(self.parked.drain(..));
    }

    /// A program gave way.
    fn push(&mut self, mut program: Suspended) {
        self.idle += 1;
        self.held += program.frame.bytes() as u64;
        let patience = PATIENCE + 4 * (self.ready.len() + self.parked.len());
        if self.idle > patience && program.is_where_it_was(self.version) {
            self.parked.push(program);
        } else {
            self.ready.push_back(program);
        }
    }

    /// True if a new program begins before one that waits goes on: always, unless it is drawn.
    fn lets_begin(&self, random: &mut Option<Random>) -> bool {
        self.ready.is_empty() || random.as_mut().is_none_or(|random| random.below(2) == 0)
    }

    /// True if all wait in vain: what they look at stays as it is.
    fn is_stuck(&self) -> bool {
        self.ready.is_empty() && !self.parked.is_empty()
    }

    /// The program whose turn it is.
    fn pop(&mut self, random: &mut Option<Random>) -> Option<Suspended> {
        let program = match random {
            Some(random) if !self.ready.is_empty() => {
                let drawn = random.below(self.ready.len() as u64) as usize;
                self.ready.swap_remove_front(drawn)?
            }
            _ => self.ready.pop_front()?,
        };
        self.held -= program.frame.bytes() as u64;
        Some(program)
    }
}

impl Suspended {
    /// True if its values are what they were before, with the same memory: compared with those kept from the
    /// last power of two of looks, which finds a cycle of any length.
    fn is_where_it_was(&mut self, version: u64) -> bool {
        let print = self.frame.fingerprint() ^ u64::from(self.position);
        if self.looks > 0 && self.seen == (version, print) {
            return true;
        }
        self.looks = if self.seen.0 == version { self.looks + 1 } else { 1 };
        if self.looks.is_power_of_two() {
            self.seen = (version, print);
        }
        false
    }
}

/// Notes that no program can go on, where the lowest one waits.
fn deadlock(machine: &mut Machine<'_>, waiting: &Waiting) {
    let Some(lowest) = waiting.parked.iter().min_by_key(|program| program.linear) else {
        return;
    };
    machine.sink.begin(lowest.linear);
    let key = Key {
        check: Check::Deadlock,
        at: lowest.by,
        tensor: 0,
    };
    let count = waiting.parked.len() as u64;
    machine.sink.report(key, count, || Detail::Deadlock(count));
}

fn cooperative(
    context: &Context<'_>,
    order: &mut dyn Iterator<Item = u64>,
    limits: Limits,
    cut: &Cut,
    progress: &(dyn Fn(u64) + Sync),
    mut random: Option<Random>,
    drive: &mut Drive<'_>,
) -> Result<Ran, String> {
    let mut machine = Machine::new(context);
    let (mut programs, mut interrupted) = (0, false);
    let mut new = order.fuse().peekable();
    let mut waiting = Waiting::default();
    loop {
        // What was known of the program when it gave way last.
        let mut known = ((0, 0), 0);
        // New programs begin before waiting ones go on: those may wait for any of them.
        let begins = new.peek().is_some() && waiting.lets_begin(&mut random);
        let position = if let Some(linear) = new.next_if(|_| begins) {
            machine.start(linear);
            waiting.changed();
            0
        } else if waiting.is_stuck() && new.peek().is_none() {
            deadlock(&mut machine, &waiting);
            break;
        } else if let Some(program) = waiting.pop(&mut random) {
            machine.start(program.linear);
            machine.frame = program.frame;
            machine.taint = program.taint;
            machine.exact = program.exact;
            machine.reread = program.reread;
            machine.steps = program.steps;
            known = (program.seen, program.looks);
            program.position
        } else {
            break;
        };
        if cut.is_past(machine.linear) {
            continue;
        }
        match drive(&mut machine, position) {
            Ok(Rest::Yielded(position)) => {
                if machine.wrote {
                    waiting.changed();
                }
                let empty = crate::frame::Frame::new(context.tape.slots as usize);
                waiting.push(Suspended {
                    linear: machine.linear,
                    position,
                    steps: machine.steps,
                    by: machine.synced_at,
                    frame: std::mem::replace(&mut machine.frame, empty),
                    taint: std::mem::take(&mut machine.taint),
                    exact: std::mem::take(&mut machine.exact),
                    reread: std::mem::take(&mut machine.reread),
                    seen: known.0,
                    looks: known.1,
                });
                if waiting.held > limits.suspended_bytes {
                    return Err(format!(
                        "programs that wait for others hold {} bytes of values, more than {} are allowed",
                        waiting.held, limits.suspended_bytes
                    ));
                }
            }
            rest => {
                waiting.changed();
                if let Some(ordered) = &mut machine.ordered {
                    ordered.end(machine.linear);
                }
                interrupted |= finish(&mut machine, rest, cut);
                programs += 1;
                progress(1);
            }
        }
        if interrupted || context.memory.interrupted() {
            interrupted = true;
            break;
        }
    }
    Ok(Ran {
        sink: machine.sink,
        programs,
        interrupted,
        cut: false,
        races: machine
            .ordered
            .take()
            .map_or_else(Found::default, |ordered| ordered.found()),
    })
}
