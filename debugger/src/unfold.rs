//! Programs that ran as a whole, executed again instruction by instruction, so that there are moments to go back to.
//!
//! Of a stretch of such programs only those are unfolded that a search is about to look into: where it can be known which
//! of them may hold what is looked for (by the numbers of programs in breakpoints, by what findings say, by who wrote),
//! only that one, else some from the last on. A launch of a million programs is so run again a few times, not stepped
//! through.

use std::ops::Range;

use tilescope_diagnostics::Result;
use tilescope_interpreter::sink::Sink;

use crate::breakpoints::Kind;
use crate::history::{Segment, Stretch};
use crate::recorder::overlaps;
use crate::session::Session;
use crate::walk::{Walk, WalkEnd};

/// Parts that a stretch is divided into, to find the one in which something was written.
const PARTS: u64 = 32;

/// A span of time that is known instruction by instruction now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unfolded {
    /// When it ends.
    pub until: u64,
    /// How much later all that follows is than it was.
    pub added: u64,
}

/// Which programs of a stretch a search must look into.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Candidate {
    /// None.
    Nobody,
    /// This one alone, before those that come earlier.
    Only(u64),
    /// Any, this one last.
    AnyUpTo(u64),
    /// The user interrupted it.
    Interrupted,
}

/// The first program of a stretch.
pub(crate) fn whole_first(segment: Segment) -> u64 {
    match segment.what {
        Stretch::Whole { first } => first,
        Stretch::Walked { linear } => linear,
    }
}

fn writes(sink: &mut Sink, allocation: usize, bytes: &[Range<u64>]) -> bool {
    let log = sink.written.get_mut(allocation).and_then(Option::as_mut);
    log.is_some_and(|log| {
        let mut ranges = log.ranges().iter();
        ranges.any(|&(start, end)| overlaps(bytes, start..end))
    })
}

impl Session {
    /// The programs of a stretch in which something may stop the session.
    pub(crate) fn last_that_may_stop(&mut self, whole: Segment, end: u64) -> Result<Candidate> {
        let first = whole_first(whole);
        let programs = first..first + (end - whole.start);
        let mut last: Option<u64> = None;
        let mut memory = Vec::new();
        for stop in self.stops.list.iter().filter(|stop| stop.enabled) {
            let allowed = stop.programs.clone().unwrap_or(programs.clone());
            let allowed = allowed.start.max(programs.start)..allowed.end.min(programs.end);
            if allowed.is_empty() {
                continue;
            }
            match &stop.kind {
                Kind::Memory {
                    allocation,
                    bytes,
                    reads: false,
                    ..
                } => memory.push((*allocation, bytes.clone())),
                _ if stop.programs.is_none() => return Ok(Candidate::AnyUpTo(programs.end - 1)),
                _ => last = last.max(Some(allowed.end - 1)),
            }
        }
        if self.stops.at_findings {
            let found = self.state.found.entries.values().map(|entry| entry.linear);
            last = last.max(found.filter(|linear| programs.contains(linear)).max());
        }
        for (allocation, bytes) in memory {
            match self.last_writer_among(whole, end, allocation, &bytes)? {
                Candidate::Only(linear) => last = last.max(Some(linear)),
                Candidate::Interrupted => return Ok(Candidate::Interrupted),
                _ => {}
            }
        }
        Ok(last.map_or(Candidate::Nobody, Candidate::Only))
    }

    /// The last program of a stretch that wrote some bytes: the stretch is run again in parts, then the last part that
    /// wrote them.
    pub(crate) fn last_writer_among(
        &mut self,
        whole: Segment,
        end: u64,
        allocation: usize,
        bytes: &[Range<u64>],
    ) -> Result<Candidate> {
        let first = whole_first(whole);
        let mut among = first..first + (end - whole.start);
        loop {
            if self.seek(whole.start)? || !self.run_whole(first..among.start)? {
                return self.give_up();
            }
            let part = (among.end - among.start).div_ceil(PARTS).max(1);
            let mut found = None;
            let mut next = among.start;
            while next < among.end {
                let stop = (next + part).min(among.end);
                let Some(mut sink) = self.race(next, stop)? else {
                    return self.give_up();
                };
                if writes(&mut sink, allocation, bytes) {
                    found = Some(next..stop);
                }
                self.raced(next, stop, sink, false);
                self.state.current = stop - 1;
                next = stop;
            }
            match found {
                None => return Ok(Candidate::Nobody),
                Some(found) if found.end - found.start == 1 => return Ok(Candidate::Only(found.start)),
                Some(found) => among = found,
            }
        }
    }

    /// Executes some programs of a stretch again, instruction by instruction; the session is then at the end of the
    /// last one. None if the user interrupted it, which leaves it at the beginning of the launch.
    pub(crate) fn unfold(&mut self, whole: Segment, programs: Range<u64>) -> Result<Option<Unfolded>> {
        let first = whole_first(whole);
        if self.seek(whole.start)? || !self.run_whole(first..programs.start)? {
            self.give_up()?;
            return Ok(None);
        }
        self.state.current = programs.start;
        self.ensure_started();
        self.snapshot();
        let from = self.state.time;
        let mut ends = Vec::new();
        for linear in programs.clone() {
            self.state.current = linear;
            let how = Walk {
                max: u64::MAX,
                yields: false,
                record: false,
            };
            if self.walk(how, &mut |_, _| false) == WalkEnd::Interrupted {
                self.give_up()?;
                return Ok(None);
            }
            ends.push(self.state.time);
        }
        let added = self.history.unfold(whole, programs.start, &ends);
        for (time, ..) in &mut self.moves {
            *time = match time.checked_sub(from + 1) {
                None => *time,
                Some(index) => {
                    let known = usize::try_from(index).ok().and_then(|index| ends.get(index));
                    known.copied().unwrap_or(*time + added)
                }
            };
        }
        Ok(Some(Unfolded {
            until: self.state.time,
            added,
        }))
    }

    /// Where a program was run as a whole: executes it again instruction by instruction. Gives the present, which the
    /// session is not at any more; none if the user interrupted it.
    pub(crate) fn unfold_program(&mut self, linear: u64) -> Result<Option<u64>> {
        let now = self.state.time;
        let stretch = self.history.segments(now).into_iter().find(|(segment, end)| {
            let first = whole_first(*segment);
            let is_whole = matches!(segment.what, Stretch::Whole { .. });
            is_whole && (first..first + (end - segment.start)).contains(&linear)
        });
        match stretch {
            None => Ok(Some(now)),
            Some((whole, _)) => {
                let unfolded = self.unfold(whole, linear..linear + 1)?;
                Ok(unfolded.map(|unfolded| now + unfolded.added))
            }
        }
    }

    /// Runs programs that are recorded as run as a whole. False if the user interrupted it.
    fn run_whole(&mut self, programs: Range<u64>) -> Result<bool> {
        if programs.is_empty() {
            return Ok(true);
        }
        let Some(sink) = self.race(programs.start, programs.end)? else {
            return Ok(false);
        };
        self.raced(programs.start, programs.end, sink, false);
        self.state.current = programs.end - 1;
        Ok(true)
    }

    /// After an interruption nobody knows what the programs have written: to the beginning of the launch.
    fn give_up(&mut self) -> Result<Candidate> {
        self.rewind()?;
        Ok(Candidate::Interrupted)
    }
}
