//! Commands that go back: the last moment before now that satisfies them is looked for by executing once more.
//!
//! The search goes from snapshot to snapshot, the latest first, so what is near is found fast.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::RangeInclusive;

use tilescope_diagnostics::Result;

use crate::breakpoints::Hit;
use crate::code::Code;
use crate::history::Stretch;
use crate::motion::Goal;
use crate::recorder::Access;
use crate::reply::{Reason, Stopped};
use crate::session::Session;
use crate::walk::{Arrival, Walk};

/// What a search for moments gave.
enum Found {
    /// The time of the moment, and the level of calls.
    At(u64, u32),
    /// There are only so many.
    Fewer,
    /// The user interrupted it.
    Interrupted,
}

impl Session {
    /// Goes back to the `count`-th last moment of the current program that satisfies the goal, or to its beginning.
    pub(crate) fn backward(&mut self, count: u64, goal: &Goal) -> Result<Stopped> {
        let home = self.state.current;
        let mut count = count.max(1);
        // Lines that this moment stands on too.
        if let (Goal::Line { deepest }, Some(levels)) = (goal, self.levels_here()) {
            let end = self.level().min(deepest.saturating_add(1));
            let outer = u64::from(end.saturating_sub(*levels.start()));
            if count <= outer {
                self.see(end - count as u32);
                return Ok(self.stopped(Reason::Stepped));
            }
            count -= outer;
        }
        self.unfold_program(home)?;
        let now = self.state.time;
        let Some(begin) = self.beginning_of(home, now) else {
            return Ok(self.stopped(Reason::Beginning));
        };
        // A moment of this program lasts until its next instruction: the latest point of it is gone to, so that what
        // others did before that stays done.
        let was_wanted = Cell::new(None);
        let found = self.search(
            (begin, now),
            count,
            &mut |session| was_wanted.set(session.satisfied(home, goal)),
            &mut |code, arrival| {
                if arrival.linear != home {
                    return None;
                }
                let levels = goal.reached(code, arrival).map(RangeInclusive::into_inner);
                let wanted = was_wanted.replace(levels);
                wanted.map(|levels| (arrival.time - 1, levels))
            },
        )?;
        match found {
            Found::At(time, level) => {
                let stopped = self.land(time, home, Reason::Stepped)?;
                Ok(self.on_level(stopped, level))
            }
            Found::Fewer => {
                let stopped = self.land(begin, home, Reason::Beginning)?;
                match goal {
                    Goal::Line { .. } => Ok(self.on_level(stopped, 0)),
                    _ => Ok(stopped),
                }
            }
            Found::Interrupted => self.land(now, home, Reason::Interrupted),
        }
    }

    /// The same stop, seen on another level of calls.
    fn on_level(&mut self, stopped: Stopped, level: u32) -> Stopped {
        self.see(level);
        Stopped {
            position: self.position(),
            ..stopped
        }
    }

    /// Goes to the beginning of the current program.
    pub(crate) fn go_to_beginning_of_program(&mut self) -> Result<Stopped> {
        let home = self.state.current;
        self.unfold_program(home)?;
        match self.beginning_of(home, self.state.time) {
            Some(begin) => self.land(begin, home, Reason::Beginning),
            None => Ok(self.stopped(Reason::Beginning)),
        }
    }

    /// Goes back to the last moment at which a breakpoint, a watchpoint or a finding would stop, or to the beginning.
    pub(crate) fn back_to_stop(&mut self) -> Result<Stopped> {
        if self.history.has_whole() {
            self.unfold(None)?;
        }
        let (now, home) = (self.state.time, self.state.current);
        let stops = std::mem::take(&mut self.stops);
        let mut last: Option<(u64, u64, Hit)> = None;
        let found = self.search((0, now), 1, &mut |_| {}, &mut |code, arrival| {
            let hit = stops.hit(code, arrival).filter(|_| arrival.time < now)?;
            last = Some((arrival.time, arrival.linear, hit));
            Some((arrival.time, (0, 0)))
        });
        self.stops = stops;
        match found? {
            Found::At(time, _) => {
                let (linear, hit) = match last {
                    Some((at, linear, hit)) if at == time => (linear, Some(hit)),
                    _ => (home, None),
                };
                let mut stopped = self.land(time, linear, Reason::Stepped)?;
                if let Some(hit) = hit {
                    stopped.reason = self.reason_of(&hit);
                    self.see_line_of(&hit);
                    stopped.position = self.position();
                }
                Ok(stopped)
            }
            Found::Fewer => {
                self.seek(0)?;
                let first = self.history.at(0).map(|(segment, _)| match segment.what {
                    Stretch::Walked { linear } => linear,
                    Stretch::Whole { first } => first,
                });
                self.state.current = first.unwrap_or(0);
                self.ensure_started();
                Ok(self.stopped(Reason::Beginning))
            }
            Found::Interrupted => self.land(now, home, Reason::Interrupted),
        }
    }

    /// When the program executed its first instruction; none if it has executed none.
    fn beginning_of(&self, linear: u64, now: u64) -> Option<u64> {
        let segments = self.history.segments(now);
        let first = segments
            .iter()
            .find(|(segment, _)| segment.what == Stretch::Walked { linear });
        first.map(|(segment, _)| segment.start)
    }

    fn land(&mut self, time: u64, home: u64, reason: Reason) -> Result<Stopped> {
        let before = self.state.time;
        let interrupted = self.seek(time)?;
        self.state.current = home;
        self.ensure_started();
        let mut stopped = self.stopped(if interrupted { Reason::Interrupted } else { reason });
        let others = self.history.segments(before.max(time));
        let took_back = others.iter().any(|(segment, end)| {
            *end > time
                && match segment.what {
                    Stretch::Walked { linear } => linear != home,
                    Stretch::Whole { .. } => true,
                }
        });
        if took_back && before > time {
            stopped
                .notes
                .push(String::from("what other programs did since then is undone too"));
        }
        Ok(stopped)
    }

    /// The levels on which the moment at which a program stands is one that the goal wants.
    fn satisfied(&self, linear: u64, goal: &Goal) -> Option<(u32, u32)> {
        let program = self.state.programs.get(&linear)?;
        let arrival = Arrival {
            linear,
            time: self.state.time,
            ticks: program.ticks,
            position: program.position,
            last: program.last,
            back: program.went_back,
            ended: program.ended,
            values: program.values(),
            accesses: &[],
            finding: None,
        };
        let levels = goal.reached(&self.code, &arrival).filter(|_| program.ticks > 0);
        levels.map(RangeInclusive::into_inner)
    }

    /// The `count`-th last moment that `wanted` names (one per level of calls), of the instructions executed in a span of time. `begin` is told
    /// before each stretch of them. Leaves the session at some moment of the past, from where [`Session::seek`] goes on.
    fn search(
        &mut self,
        (from, until): (u64, u64),
        count: u64,
        begin: &mut dyn FnMut(&Session),
        wanted: &mut dyn FnMut(&Code, &Arrival<'_>) -> Option<(u64, (u32, u32))>,
    ) -> Result<Found> {
        let mut left = count.max(1);
        // Instructions up to here are still to be searched.
        let mut limit = until;
        while limit > from {
            // The latest snapshot before the moments that are left; where there is none, the beginning.
            let start = self
                .history
                .snapshot_times()
                .into_iter()
                .rfind(|&time| time < limit)
                .unwrap_or(0);
            if self.seek(start)? {
                return Ok(Found::Interrupted);
            }
            begin(self);
            let mut times: VecDeque<(u64, u32)> = VecDeque::new();
            let mut all = 0u64;
            let interrupted = self.replay(limit, &mut |code, arrival| {
                if arrival.time > from
                    && let Some((time, (first, last))) = wanted(code, arrival)
                {
                    for level in first..=last {
                        all += 1;
                        times.push_back((time, level));
                        if times.len() as u64 > left {
                            times.pop_front();
                        }
                    }
                }
            })?;
            if interrupted {
                return Ok(Found::Interrupted);
            }
            if all >= left {
                return Ok(times
                    .front()
                    .map_or(Found::Fewer, |&(time, level)| Found::At(time, level)));
            }
            left -= all;
            limit = start;
        }
        Ok(Found::Fewer)
    }

    /// The last access that is wanted: when it was done (the time after it), by whom, and how many instructions that
    /// program had executed before; and the present, which is where the caller must go back to.
    #[allow(clippy::type_complexity, reason = "named in the line above")]
    pub(crate) fn last_access(
        &mut self,
        wanted: &mut dyn FnMut(&Access) -> bool,
    ) -> Result<(Option<(u64, u64, u64)>, u64)> {
        if self.history.has_whole() {
            self.unfold(None)?;
        }
        let now = self.state.time;
        let mut last = None;
        let found = self.search((0, now), 1, &mut |_| {}, &mut |_, arrival| {
            if !arrival.accesses.iter().any(&mut *wanted) {
                return None;
            }
            last = Some((arrival.time, arrival.linear, arrival.ticks.saturating_sub(1)));
            Some((arrival.time, (0, 0)))
        })?;
        Ok(match found {
            Found::At(..) => (last, now),
            Found::Fewer | Found::Interrupted => (None, now),
        })
    }

    /// Where a program was run as a whole: executes everything again, that program instruction by instruction.
    fn unfold_program(&mut self, linear: u64) -> Result<()> {
        let whole = self
            .history
            .segments(self.state.time)
            .into_iter()
            .any(|(segment, end)| match segment.what {
                Stretch::Whole { first } => (first..first + (end - segment.start)).contains(&linear),
                Stretch::Walked { .. } => false,
            });
        if whole { self.unfold(Some(linear)) } else { Ok(()) }
    }

    /// Executes everything again instruction by instruction, also what ran as a whole (or only one program of it): then
    /// every moment of it can be gone to. Ends where it began.
    fn unfold(&mut self, only: Option<u64>) -> Result<()> {
        let (now, home) = (self.state.time, self.state.current);
        let segments = self.history.segments(now);
        self.rewind()?;
        self.history.cut(0);
        self.moves.clear();
        for (segment, end) in segments {
            match segment.what {
                Stretch::Walked { linear } => self.walk_again(linear..linear + 1, end - segment.start),
                Stretch::Whole { first } => {
                    let last = first + (end - segment.start);
                    match only.filter(|only| !(first..last).contains(only)) {
                        Some(_) => self.race_again(first, last)?,
                        None => {
                            let walked = only.map_or(first..last, |only| only..only + 1);
                            self.race_again(first, walked.start)?;
                            self.walk_again(walked.clone(), u64::MAX);
                            self.race_again(walked.end, last)?;
                        }
                    }
                }
            }
            if self.engine.interrupted() {
                return Ok(());
            }
        }
        self.state.current = home;
        self.ensure_started();
        Ok(())
    }

    fn walk_again(&mut self, programs: std::ops::Range<u64>, max: u64) {
        for linear in programs {
            self.state.current = linear;
            self.walk(
                Walk {
                    max,
                    yields: false,
                    record: true,
                },
                &mut |_, _| false,
            );
            if self.engine.interrupted() {
                return;
            }
        }
    }

    fn race_again(&mut self, first: u64, end: u64) -> Result<()> {
        if first < end
            && let Some(sink) = self.race(first, end)?
        {
            self.raced(first, end, sink, true);
            self.state.current = end - 1;
            self.snapshot();
        }
        Ok(())
    }
}
