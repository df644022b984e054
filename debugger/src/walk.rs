//! Execution: programs walked instruction by instruction, replayed, or raced through on the fast path.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tilescope_diagnostics::{Error, Result};
use tilescope_interpreter::schedule::{self, Limits};
use tilescope_interpreter::sink::Key;
use tilescope_interpreter::stepping::{Program, Stepped, Values, Walker};

use crate::code::Code;
use crate::history::{State, Stretch};
use crate::recorder::Access;
use crate::session::Session;

/// Work after which a snapshot is taken: lanes, about; some milliseconds of it.
const WORK_PER_SNAPSHOT: u64 = 1 << 22;

/// Bytes that programs which have begun may take.
const MAX_SUSPENDED: usize = 1 << 30;

/// A moment, seen from the program that has just executed an instruction.
#[derive(Debug)]
pub struct Arrival<'a> {
    /// The program.
    pub linear: u64,
    /// When.
    pub time: u64,
    /// Instructions that the program has executed.
    pub ticks: u64,
    /// The instruction to be executed next.
    pub position: u32,
    /// The instruction just executed.
    pub last: Option<u32>,
    /// It jumped back.
    pub back: bool,
    /// The program has ended.
    pub ended: bool,
    /// Its values.
    pub values: Values<'a>,
    /// What the instruction accessed.
    pub accesses: &'a [Access],
    /// What it was the first to find.
    pub finding: Option<Key>,
}

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalkEnd {
    /// It went as far as it may.
    Far,
    /// Somebody asked to stop.
    Asked,
    /// The program has ended.
    Ended,
    /// The program gave way.
    Yielded,
    /// The user interrupted it.
    Interrupted,
}

/// How to walk.
#[derive(Debug, Clone, Copy)]
pub struct Walk {
    /// Instructions, at most.
    pub max: u64,
    /// Stops where the program gives way.
    pub yields: bool,
    /// This is new: it is added to the history.
    pub record: bool,
}

impl Session {
    /// Begins the current program unless it has begun.
    pub(crate) fn ensure_started(&mut self) {
        let Session {
            code, engine, state, ..
        } = self;
        let linear = state.current;
        let is_over = state.done.contains(linear) || engine.launch.grid.contains(&0);
        if state.programs.contains_key(&linear) || is_over {
            return;
        }
        let tape = &code.stepping.tape;
        let program = engine.walk(tape, &mut state.stored, |context, _| {
            Program::new(context, linear)
        });
        state.programs.insert(linear, Arc::new(program));
    }

    /// Takes a snapshot of this moment.
    pub(crate) fn snapshot(&mut self) {
        let journal = self.engine.recorder.take_journal();
        self.history.push(self.state.clone(), journal);
    }

    /// Executes instructions of the current program; `arrive` is asked after each whether to stop.
    pub(crate) fn walk(&mut self, how: Walk, arrive: &mut dyn FnMut(&Code, &Arrival<'_>) -> bool) -> WalkEnd {
        self.ensure_started();
        let Session {
            code,
            engine,
            state,
            history,
            ..
        } = self;
        let code: &Code = code;
        let linear = state.current;
        let mut known: BTreeSet<Key> = state.found.entries.keys().copied().collect();
        for program in state.programs.values() {
            known.extend(program.sink.entries.keys());
        }
        let Some(program) = state.programs.remove(&linear) else {
            return WalkEnd::Ended;
        };
        if program.ended {
            state.programs.insert(linear, program);
            return WalkEnd::Ended;
        }
        let from = state.time;
        let cancel = engine.cancel;
        let costs = &code.costs;
        let mut stored = state.stored.take();
        let mut touches = state.touches.remove(&linear).unwrap_or_default();
        let rest = &mut *state;
        let (end, program) = engine.walk(&code.stepping.tape, &mut stored, |context, recorder| {
            let mut walker = Walker::new(context);
            walker.load(Arc::unwrap_or_clone(program));
            recorder.listen(true);
            let mut accesses = Vec::new();
            let mut found = walker.sink().entries.len();
            let mut done = 0;
            let end = loop {
                if done == how.max {
                    break WalkEnd::Far;
                }
                if cancel.load(Ordering::Relaxed) {
                    break WalkEnd::Interrupted;
                }
                if history.work >= WORK_PER_SNAPSHOT {
                    let mut programs = rest.programs.clone();
                    programs.insert(linear, Arc::new(walker.snapshot()));
                    let mut all_touches = rest.touches.clone();
                    all_touches.insert(linear, touches.clone());
                    let state = State {
                        programs,
                        touches: all_touches,
                        others: rest.others.clone(),
                        stored: Some(context.memory.stored.clone()),
                        current: linear,
                        done: rest.done.clone(),
                        found: rest.found.clone(),
                        ..*rest
                    };
                    // What was replayed is recorded already, and what is new will be before anybody goes back.
                    history.push(state, recorder.take_journal());
                }
                history.work += u64::from(costs.get(walker.position() as usize).copied().unwrap_or(1));
                let stepped = walker.step();
                done += 1;
                rest.time += 1;
                if recorder.collect(&mut accesses) {
                    rest.idle = 0;
                }
                if !accesses.is_empty() {
                    let touches = Arc::make_mut(&mut touches);
                    accesses.iter().for_each(|access| touches.add(access));
                }
                let mut finding = None;
                if walker.sink().entries.len() > found {
                    found = walker.sink().entries.len();
                    finding = walker
                        .sink()
                        .entries
                        .keys()
                        .find(|key| !known.contains(key))
                        .copied();
                    known.extend(walker.sink().entries.keys());
                }
                let asked = arrive(
                    code,
                    &Arrival {
                        linear,
                        time: rest.time,
                        ticks: walker.ticks(),
                        position: walker.position(),
                        last: walker.last(),
                        back: walker.went_back(),
                        ended: walker.ended(),
                        values: walker.values(),
                        accesses: &accesses,
                        finding,
                    },
                );
                let gave_way = matches!(stepped, Stepped::On { yields: true });
                rest.idle += u64::from(gave_way);
                if walker.ended() {
                    break if asked { WalkEnd::Asked } else { WalkEnd::Ended };
                }
                if asked {
                    break WalkEnd::Asked;
                }
                if gave_way && how.yields {
                    break WalkEnd::Yielded;
                }
            };
            recorder.listen(false);
            (end, walker.unload())
        });
        state.stored = stored;
        state.touches.insert(linear, touches);
        if how.record && state.time > from {
            history.record(Stretch::Walked { linear }, from, state.time);
        }
        let ended = program.ended;
        if ended {
            state.idle = 0;
            let mut found = std::mem::take(&mut state.found);
            Arc::make_mut(&mut found).merge(program.sink.clone());
            state.found = found;
            state.done.add(linear, linear + 1);
            state.drop_done(linear);
        }
        state.programs.insert(linear, Arc::new(program));
        end
    }

    /// Runs whole programs on the fast path. None if the user interrupted it: then nobody knows which have run.
    ///
    /// # Errors
    /// The kernel cannot be lowered; never where it could be for stepping.
    pub(crate) fn race(&mut self, first: u64, end: u64) -> Result<Option<tilescope_interpreter::sink::Sink>> {
        if self.fast.is_none() {
            let options = tilescope_interpreter::Options {
                max_steps: self.engine.max_steps,
                cpu: self.engine.cpu,
                ..tilescope_interpreter::Options::default()
            };
            let Session { code, engine, .. } = self;
            self.fast = Some(tilescope_interpreter::tape(
                &code.module,
                code.kernel,
                &engine.launch,
                options,
            )?);
        }
        let Session {
            engine, state, fast, ..
        } = self;
        let Some(tape) = fast else { return Ok(None) };
        let limits = Limits { suspended_bytes: 0 };
        let ran = engine.race(tape, &mut state.stored, |context| {
            schedule::run_some(context, first..end, limits, &|_| {})
        });
        let ran = ran.map_err(Error::unsupported)?;
        Ok((!ran.interrupted).then_some(ran.sink))
    }

    /// Takes in programs that ran as a whole.
    pub(crate) fn raced(
        &mut self,
        first: u64,
        end: u64,
        sink: tilescope_interpreter::sink::Sink,
        record: bool,
    ) {
        let from = self.state.time;
        let mut sink = sink;
        let logs = sink.written.iter_mut().enumerate();
        let written: Vec<(usize, Vec<(u64, u64)>)> = logs
            .filter_map(|(i, log)| Some((i, log.as_mut()?.ranges().to_vec())))
            .collect();
        let mut found = std::mem::take(&mut self.state.found);
        Arc::make_mut(&mut found).merge(sink);
        self.state.found = found;
        self.state.done.add(first, end);
        self.state.time += end - first;
        self.state.drop_done(u64::MAX);
        let others = Arc::make_mut(&mut self.state.others);
        for (allocation, ranges) in written {
            others.writes.entry(allocation).or_default().add_all(&ranges);
        }
        if record {
            self.history
                .record(Stretch::Whole { first }, from, self.state.time);
        }
        // No journal knows what was written.
        drop(self.engine.recorder.take_journal());
        self.history.forget();
    }

    /// Executes what is recorded, up to a time. True if the user interrupted it.
    pub(crate) fn replay(&mut self, until: u64, arrive: &mut dyn FnMut(&Code, &Arrival<'_>)) -> Result<bool> {
        while self.state.time < until {
            let Some((segment, end)) = self.history.at(self.state.time) else {
                break;
            };
            let count = end.min(until) - self.state.time;
            match segment.what {
                Stretch::Walked { linear } => {
                    self.state.current = linear;
                    let how = Walk {
                        max: count,
                        yields: false,
                        record: false,
                    };
                    let end = self.walk(how, &mut |code, arrival| {
                        arrive(code, arrival);
                        false
                    });
                    if end == WalkEnd::Interrupted {
                        return Ok(true);
                    }
                }
                Stretch::Whole { first } => {
                    let first = first + (self.state.time - segment.start);
                    match self.race(first, first + count)? {
                        Some(sink) => self.raced(first, first + count, sink, false),
                        None => return Ok(true),
                    }
                    self.state.current = first + count - 1;
                    self.snapshot();
                }
            }
        }
        Ok(false)
    }

    /// Goes to a time that was recorded. True if the user interrupted it, which leaves the session somewhere before.
    pub(crate) fn seek(&mut self, time: u64) -> Result<bool> {
        if time < self.state.time {
            let Session { engine, history, .. } = self;
            let recorder = &engine.recorder;
            match history.restore(time, &mut || recorder.take_journal(), &mut engine.memory) {
                Some(state) => self.state = state,
                None => self.rewind()?,
            }
            self.history.work = 0;
        }
        self.replay(time, &mut |_, _| {})
    }

    /// Goes to the beginning of the launch by way of the tensors as they were; what was recorded stays.
    pub(crate) fn rewind(&mut self) -> Result<()> {
        self.engine.reset()?;
        self.history.forget();
        self.state = State::default();
        self.ensure_started();
        self.snapshot();
        Ok(())
    }

    /// True if programs that have begun take more memory than they may.
    pub(crate) fn is_crowded(&self) -> bool {
        self.state
            .programs
            .values()
            .map(|program| program.bytes())
            .sum::<usize>()
            > MAX_SUSPENDED
    }
}
