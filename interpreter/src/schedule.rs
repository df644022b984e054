//! In what order the programs of a grid run.
//!
//! Most kernels' programs are independent and run in parallel, in chunks of rising program numbers. A
//! kernel that uses the result of an atomic, or loads volatile, runs on one worker in one
//! deterministic interleaving: each program runs until it ends or goes round a loop that synchronises,
//! then the next one does. Float atomics are applied in program order. So neither outputs nor findings
//! depend on the number of threads.

use crate::machine::{Context, Machine, Rest, Stop};
use crate::sink::{Detail, Key, Sink};
use crate::tape::{At, Order};
use rayon::prelude::*;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
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

/// Runs the given programs (linear numbers `0..count`); `progress` is told how many ended.
pub fn run(
    context: &Context<'_>,
    count: u64,
    limits: Limits,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Ran, String> {
    let cut = Cut(AtomicU64::new(u64::MAX));
    let mut ran = match context.tape.order {
        Order::Parallel => parallel(context, count, &cut, progress),
        Order::Sequential => one_by_one(context, count, &cut, progress),
        Order::Cooperative => cooperative(context, count, limits, &cut, progress)?,
    };
    let last = cut.0.load(Ordering::Relaxed);
    ran.sink.entries.retain(|_, entry| entry.linear <= last);
    ran.sink.prints.retain(|print| print.linear <= last);
    ran.sink.prints.sort_by_key(|print| print.linear);
    Ok(ran)
}

fn parallel(context: &Context<'_>, count: u64, cut: &Cut, progress: &(dyn Fn(u64) + Sync)) -> Ran {
    // Enough chunks to balance the load, few enough that taking one costs nothing beside its programs.
    let threads = rayon::current_num_threads() as u64;
    let chunk = (count / (threads * 32)).clamp(1, 4096);
    let idle: Mutex<Vec<Machine<'_>>> = Mutex::new(Vec::new());
    let totals = Mutex::new((0u64, false));
    (0..count.div_ceil(chunk)).into_par_iter().for_each(|i| {
        let waiting = idle.lock().ok().and_then(|mut machines| machines.pop());
        let mut machine = waiting.unwrap_or_else(|| Machine::new(context));
        let first = i * chunk;
        let (mut done, mut stopped) = (0, false);
        for linear in first..(first + chunk).min(count) {
            if context.memory.interrupted() {
                stopped = true;
                break;
            }
            if cut.is_past(linear) {
                break;
            }
            machine.start(linear);
            let rest = machine.resume(0);
            stopped |= finish(&mut machine, rest, cut);
            done += 1;
        }
        progress(done);
        if let Ok(mut totals) = totals.lock() {
            totals.0 += done;
            totals.1 |= stopped;
        }
        if let Ok(mut machines) = idle.lock() {
            machines.push(machine);
        }
    });
    let mut sink = Sink::new(&context.memory);
    for machine in idle.into_inner().unwrap_or_default() {
        sink.merge(machine.sink);
    }
    let (programs, interrupted) = totals.into_inner().unwrap_or((0, true));
    Ran {
        sink,
        programs,
        interrupted,
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

fn step_limit(machine: &mut Machine<'_>, at: At) {
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

fn one_by_one(context: &Context<'_>, count: u64, cut: &Cut, progress: &(dyn Fn(u64) + Sync)) -> Ran {
    let mut machine = Machine::new(context);
    let (mut programs, mut interrupted) = (0, false);
    for linear in 0..count {
        if interrupted || cut.is_past(linear) {
            break;
        }
        machine.start(linear);
        let rest = machine.resume(0);
        interrupted = finish(&mut machine, rest, cut) || context.memory.interrupted();
        programs += 1;
        progress(1);
    }
    Ran {
        sink: machine.sink,
        programs,
        interrupted,
    }
}

/// A program that gave way.
struct Suspended {
    linear: u64,
    position: u32,
    steps: u64,
    frame: crate::frame::Frame,
    taint: crate::taint::Taint,
}

fn cooperative(
    context: &Context<'_>,
    count: u64,
    limits: Limits,
    cut: &Cut,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Ran, String> {
    let mut machine = Machine::new(context);
    let (mut programs, mut interrupted) = (0, false);
    let mut next = 0;
    let mut waiting: VecDeque<Suspended> = VecDeque::new();
    let mut held = 0u64;
    loop {
        // New programs begin before waiting ones go on: those may wait for any of them.
        let position = if next < count {
            machine.start(next);
            next += 1;
            0
        } else if let Some(program) = waiting.pop_front() {
            held -= program.frame.bytes() as u64;
            machine.start(program.linear);
            machine.frame = program.frame;
            machine.taint = program.taint;
            machine.steps = program.steps;
            program.position
        } else {
            break;
        };
        if cut.is_past(machine.linear) {
            continue;
        }
        match machine.resume(position) {
            Ok(Rest::Yielded(position)) => {
                let empty = crate::frame::Frame::new(context.tape.slots as usize);
                let frame = std::mem::replace(&mut machine.frame, empty);
                held += frame.bytes() as u64;
                if held > limits.suspended_bytes {
                    return Err(format!(
                        "programs that wait for others hold {held} bytes of values, more than {} are allowed",
                        limits.suspended_bytes
                    ));
                }
                let taint = std::mem::take(&mut machine.taint);
                waiting.push_back(Suspended {
                    linear: machine.linear,
                    position,
                    steps: machine.steps,
                    frame,
                    taint,
                });
            }
            rest => {
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
    })
}
