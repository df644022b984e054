//! Execution: programs walked instruction by instruction, replayed, or raced through on the fast path.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tilescope_diagnostics::{Error, Result};
use tilescope_interpreter::schedule::{self, Limits};
use tilescope_interpreter::sink::{Key, Sink};
use tilescope_interpreter::stepping::{Program, Stepped, Values, Walker};
use tilescope_interpreter::stored::StoredPointers;

use crate::code::Code;
use crate::history::{History, State, Stretch, Touches};
use crate::recorder::{Access, Recorder};
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

impl<'a> Arrival<'a> {
    /// The moment at which a program stands, however it came there.
    pub fn at(program: &'a Program, time: u64) -> Arrival<'a> {
        Arrival {
            linear: program.linear,
            time,
            ticks: program.ticks,
            position: program.position,
            last: program.last,
            back: program.went_back,
            ended: program.ended,
            values: program.values(),
            accesses: &[],
            finding: None,
        }
    }
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

/// What was found, to see what is new.
struct Known {
    keys: BTreeSet<Key>,
    /// Entries of the program that is walked.
    count: usize,
}

impl Known {
    fn of(state: &State) -> Known {
        let mut keys: BTreeSet<Key> = state.found.entries.keys().copied().collect();
        for program in state.programs.values() {
            keys.extend(program.sink.entries.keys());
        }
        Known { keys, count: 0 }
    }

    /// What nobody has found before, if there is something.
    fn first_new(&mut self, sink: &Sink) -> Option<Key> {
        if sink.entries.len() <= self.count {
            return None;
        }
        self.count = sink.entries.len();
        let new = sink.entries.keys().find(|key| !self.keys.contains(key)).copied();
        self.keys.extend(sink.entries.keys());
        new
    }
}

/// A program on its way.
struct Walking<'s> {
    code: &'s Code,
    state: &'s mut State,
    history: &'s mut History,
    cancel: &'static AtomicBool,
    linear: u64,
    touches: Arc<Touches>,
    known: Known,
}

impl Walking<'_> {
    fn walk(
        &mut self,
        walker: &mut Walker<'_>,
        how: Walk,
        (stored, recorder): (&StoredPointers, &Recorder),
        arrive: &mut dyn FnMut(&Code, &Arrival<'_>) -> bool,
    ) -> WalkEnd {
        let mut accesses = Vec::new();
        let _ = self.known.first_new(walker.sink());
        for _ in 0..how.max {
            if self.cancel.load(Ordering::Relaxed) {
                return WalkEnd::Interrupted;
            }
            if self.history.work >= WORK_PER_SNAPSHOT {
                let state = &self.state;
                let state = state.with(self.linear, walker.snapshot(), &self.touches, stored.clone());
                // What was replayed is recorded already, and what is new will be before anybody goes back.
                self.history.push(state, recorder.take_journal());
            }
            let cost = self.code.costs.get(walker.position() as usize);
            self.history.work += u64::from(cost.copied().unwrap_or(1));
            let stepped = walker.step();
            self.state.time += 1;
            if recorder.collect(&mut accesses) {
                self.state.idle = 0;
            }
            if !accesses.is_empty() {
                let touches = Arc::make_mut(&mut self.touches);
                accesses.iter().for_each(|access| touches.add(access));
            }
            let arrival = Arrival {
                linear: self.linear,
                time: self.state.time,
                ticks: walker.ticks(),
                position: walker.position(),
                last: walker.last(),
                back: walker.went_back(),
                ended: walker.ended(),
                values: walker.values(),
                accesses: &accesses,
                finding: self.known.first_new(walker.sink()),
            };
            let asked = arrive(self.code, &arrival);
            let gave_way = matches!(stepped, Stepped::On { yields: true });
            self.state.idle += u64::from(gave_way);
            if asked {
                return WalkEnd::Asked;
            }
            if walker.ended() {
                return WalkEnd::Ended;
            }
            if gave_way && how.yields {
                return WalkEnd::Yielded;
            }
        }
        WalkEnd::Far
    }
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
        let Some(program) = state.programs.remove(&linear) else {
            return WalkEnd::Ended;
        };
        if program.ended {
            state.programs.insert(linear, program);
            return WalkEnd::Ended;
        }
        let from = state.time;
        let mut stored = state.stored.take();
        let mut walking = Walking {
            code,
            linear,
            touches: state.touches.remove(&linear).unwrap_or_default(),
            known: Known::of(state),
            state,
            history,
            cancel: engine.cancel,
        };
        let (end, program) = engine.walk(&code.stepping.tape, &mut stored, |context, recorder| {
            let mut walker = Walker::new(context);
            walker.load(Arc::unwrap_or_clone(program));
            recorder.listen(true);
            let end = walking.walk(&mut walker, how, (&context.memory.stored, recorder), arrive);
            recorder.listen(false);
            (end, walker.unload())
        });
        let touches = walking.touches;
        state.stored = stored;
        state.touches.insert(linear, touches);
        if how.record && state.time > from {
            history.record(Stretch::Walked { linear }, from, state.time);
        }
        if program.ended {
            self.end(&program);
        }
        self.state.programs.insert(linear, Arc::new(program));
        end
    }

    /// Takes in what a program has found that has ended.
    fn end(&mut self, program: &Program) {
        let state = &mut self.state;
        state.idle = 0;
        Arc::make_mut(&mut state.found).merge(program.sink.clone());
        state.done.add(program.linear, program.linear + 1);
        state.drop_done(program.linear);
    }

    /// Runs whole programs on the fast path. None if the user interrupted it: then nobody knows which have run.
    ///
    /// # Errors
    /// The kernel cannot be lowered; never where it could be for stepping.
    pub(crate) fn race(&mut self, first: u64, end: u64) -> Result<Option<Sink>> {
        if self.fast.is_none() {
            let options = tilescope_interpreter::Options {
                max_steps: self.engine.max_steps,
                cpu: self.engine.cpu,
                target: self.engine.target,
                poison: self.engine.poison,
                checks: self.engine.checks,
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
    pub(crate) fn raced(&mut self, first: u64, end: u64, sink: Sink, record: bool) {
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
                    self.ensure_started();
                    if let Some(program) = self.program().filter(|program| program.ticks == 0) {
                        arrive(&self.code, &Arrival::at(program, self.state.time));
                    }
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
