//! Commands that go back: the last moment before now that satisfies them is looked for by executing once more.
//!
//! The search goes from snapshot to snapshot, the latest first, so what is near is found fast.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::{Range, RangeInclusive};

use tilescope_diagnostics::{Error, Result};

use crate::breakpoints::Hit;
use crate::code::Code;
use crate::history::Stretch;
use crate::motion::Goal;
use crate::reply::{Reason, Stopped};
use crate::session::Session;
use crate::unfold::{Candidate, whole_first};
use crate::walk::Arrival;

/// Programs that are looked into at first, where any could be the one that stops; then so many times more.
const BATCH: u64 = 8;
const GROWTH: u64 = 8;

/// A time, and the first and last level of calls.
type Moment = (u64, (u32, u32));

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
        let Some(now) = self.unfold_program(home)? else {
            return self.interrupted();
        };
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
                if arrival.linear != home || arrival.ticks == 0 {
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
            Found::Interrupted => self.interrupted(),
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
        let Some(now) = self.unfold_program(home)? else {
            return self.interrupted();
        };
        match self.beginning_of(home, now) {
            Some(begin) => {
                let stopped = self.land(begin, home, Reason::Beginning)?;
                Ok(self.on_level(stopped, 0))
            }
            None => Ok(self.stopped(Reason::Beginning)),
        }
    }

    /// Goes back to the last moment at which a breakpoint, a watchpoint or a finding would stop, or to the beginning.
    pub(crate) fn back_to_stop(&mut self) -> Result<Stopped> {
        let mut now = self.state.time;
        let mut until = now;
        let mut batch = BATCH;
        loop {
            let whole = self.history.last_whole(until);
            let from = whole.map_or(0, |(_, end)| end);
            match self.last_stop((from, until), now)? {
                (Found::At(time, _), Some((linear, hit))) => {
                    let mut stopped = self.land(time, linear, Reason::Stepped)?;
                    self.stops.note(&hit);
                    stopped.reason = self.reason_of(&hit);
                    self.see_line_of(&hit);
                    stopped.position = self.position();
                    return Ok(stopped);
                }
                (Found::Interrupted, _) => return self.interrupted(),
                _ => {}
            }
            let Some((whole, end)) = whole else {
                return self.back_to_beginning();
            };
            let last = match self.last_that_may_stop(whole, end)? {
                Candidate::Nobody => {
                    until = whole.start;
                    continue;
                }
                Candidate::Interrupted => return self.interrupted(),
                Candidate::Only(linear) => linear..linear + 1,
                Candidate::AnyUpTo(linear) => {
                    let first = (linear + 1).saturating_sub(batch).max(whole_first(whole));
                    batch = batch.saturating_mul(GROWTH);
                    first..linear + 1
                }
            };
            match self.unfold(whole, last)? {
                Some(unfolded) => {
                    until = unfolded.until;
                    now += unfolded.added;
                }
                None => return self.interrupted(),
            }
        }
    }

    /// The last moment of a span, before `now`, at which something would stop.
    fn last_stop(&mut self, span: (u64, u64), now: u64) -> Result<(Found, Option<(u64, Hit)>)> {
        let stops = std::mem::take(&mut self.stops);
        let mut last: Option<(u64, Hit)> = None;
        let found = self.search(span, 1, &mut |_| {}, &mut |code, arrival| {
            let hit = stops.hit(code, arrival).filter(|_| arrival.time < now)?;
            last = Some((arrival.linear, hit));
            Some((arrival.time, (0, 0)))
        });
        self.stops = stops;
        Ok((found?, last))
    }

    fn back_to_beginning(&mut self) -> Result<Stopped> {
        if self.seek(0)? {
            return self.interrupted();
        }
        let first = self.history.at(0).map(|(segment, _)| match segment.what {
            Stretch::Walked { linear } => linear,
            Stretch::Whole { first } => first,
        });
        self.state.current = first.unwrap_or(0);
        self.ensure_started();
        Ok(self.stopped(Reason::Beginning))
    }

    /// A search that the user stopped leaves the session somewhere in the past.
    fn interrupted(&mut self) -> Result<Stopped> {
        self.ensure_started();
        let mut stopped = self.stopped(Reason::Interrupted);
        stopped
            .notes
            .push(String::from("`undo` goes on to where you were"));
        Ok(stopped)
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
        let arrival = Arrival::at(program, self.state.time);
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
        wanted: &mut dyn FnMut(&Code, &Arrival<'_>) -> Option<Moment>,
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
                // A program that begins does so at the time at which another one has stopped.
                let begins = arrival.ticks == 0 && arrival.time == from;
                if (arrival.time > from || begins)
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

    /// The last write of some bytes: when it was done (the time after it), by whom, and how many instructions that
    /// program had executed before; and the present, which is where the caller must go back to.
    ///
    /// # Errors
    /// The user stopped the search.
    #[allow(clippy::type_complexity, reason = "named in the line above")]
    pub(crate) fn last_write(
        &mut self,
        allocation: usize,
        bytes: &[Range<u64>],
    ) -> Result<(Option<(u64, u64, u64)>, u64)> {
        let (mut now, home) = (self.state.time, self.state.current);
        let mut until = now;
        let level = self.level();
        let stopped = |session: &mut Session, now: u64| {
            session.moves.push((now, home, level));
            Error::input("interrupted").help("`undo` goes on to where you were")
        };
        loop {
            let whole = self.history.last_whole(until);
            let from = whole.map_or(0, |(_, end)| end);
            let mut last = None;
            let found = self.search((from, until), 1, &mut |_| {}, &mut |_, arrival| {
                if !arrival
                    .accesses
                    .iter()
                    .any(|access| access.writes(allocation, bytes))
                {
                    return None;
                }
                last = Some((arrival.time, arrival.linear, arrival.ticks.saturating_sub(1)));
                Some((arrival.time, (0, 0)))
            })?;
            match found {
                Found::At(..) => return Ok((last, now)),
                Found::Interrupted => return Err(stopped(self, now)),
                Found::Fewer => {}
            }
            let Some((whole, end)) = whole else {
                return Ok((None, now));
            };
            match self.last_writer_among(whole, end, allocation, bytes)? {
                Candidate::Only(linear) => match self.unfold(whole, linear..linear + 1)? {
                    Some(unfolded) => {
                        until = unfolded.until;
                        now += unfolded.added;
                    }
                    None => return Err(stopped(self, now)),
                },
                Candidate::Interrupted => return Err(stopped(self, now)),
                _ => until = whole.start,
            }
        }
    }
}
