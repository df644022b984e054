//! The time of a session: what was executed, and snapshots to go back to.
//!
//! Time counts executed instructions over all programs; a program that was run as a whole, on the fast path, counts
//! one. A moment is between two instructions. To go back to one is to restore the last snapshot before it and to
//! execute again from there; nothing else is recorded.
//!
//! A snapshot holds the values of the programs that have begun and not ended, and the interval after it holds the
//! pages of tensors as they were at its beginning (those written since). Snapshots are taken after so much work;
//! when all together exceed the bound on memory, those are given up whose loss costs least, relative to how long
//! ago they are: distances between them grow with age, so recent moments are near one, and distant ones can be
//! reached too. If all that does not fit, the oldest snapshots go, and what is before the oldest is reached from
//! the tensors as they were before the launch.

use std::collections::BTreeMap;
use std::sync::Arc;

use tilescope_interpreter::sink::Sink;
use tilescope_interpreter::stepping::Program;
use tilescope_interpreter::stored::StoredPointers;
use tilescope_launch::Memory;

use crate::recorder::{Access, Journal};

/// Most snapshots.
const MAX_SNAPSHOTS: usize = 1024;

/// Ranges of linear program numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ranges {
    /// First to one past the last; disjoint, not touching.
    ranges: BTreeMap<u64, u64>,
}

impl Ranges {
    /// Adds the numbers `first..end`.
    pub fn add(&mut self, first: u64, end: u64) {
        let (mut first, mut end) = (first, end);
        if first >= end {
            return;
        }
        if let Some((_, &stop)) = self.ranges.range(..=first).next_back()
            && stop >= end
        {
            return;
        }
        while let Some((&start, &stop)) = self.ranges.range(..=end).next_back() {
            if stop < first {
                break;
            }
            self.ranges.remove(&start);
            first = first.min(start);
            end = end.max(stop);
        }
        self.ranges.insert(first, end);
    }

    /// Adds all of some ranges.
    pub fn add_all(&mut self, ranges: &[(u64, u64)]) {
        ranges.iter().for_each(|&(first, end)| self.add(first, end));
    }

    /// True if the number is in one of them.
    pub fn contains(&self, number: u64) -> bool {
        self.ranges
            .range(..=number)
            .next_back()
            .is_some_and(|(_, &end)| number < end)
    }

    /// The first number from `from` on that is in none of them.
    pub fn first_gap(&self, from: u64) -> u64 {
        match self.ranges.range(..=from).next_back() {
            Some((_, &end)) if from < end => end,
            _ => from,
        }
    }

    /// The first number from `from` on that is in one of them, if any.
    pub fn next_from(&self, from: u64) -> Option<u64> {
        if self.contains(from) {
            return Some(from);
        }
        self.ranges.range(from..).next().map(|(&start, _)| start)
    }

    /// How many numbers.
    pub fn count(&self) -> u64 {
        self.ranges.iter().map(|(start, end)| end - start).sum()
    }

    /// All of them, rising.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ranges.iter().map(|(&start, &end)| (start, end))
    }
}

/// Bytes read and written, by allocation.
#[derive(Debug, Clone, Default)]
pub struct Touches {
    /// Bytes read.
    pub reads: BTreeMap<usize, Ranges>,
    /// Bytes written.
    pub writes: BTreeMap<usize, Ranges>,
}

impl Touches {
    /// Adds an access.
    pub fn add(&mut self, access: &Access) {
        let (start, end) = (access.offset as u64, (access.offset + access.bytes) as u64);
        if !access.write || access.atomic {
            self.reads.entry(access.allocation).or_default().add(start, end);
        }
        if access.write {
            self.writes.entry(access.allocation).or_default().add(start, end);
        }
    }

    /// Adds what another has written.
    pub fn add_writes(&mut self, other: &Touches) {
        for (&allocation, ranges) in &other.writes {
            let own = self.writes.entry(allocation).or_default();
            ranges.iter().for_each(|(start, end)| own.add(start, end));
        }
    }
}

/// Everything that changes as programs run, but for the tensors' bytes.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// The program that the user looks at.
    pub current: u64,
    /// Programs that have begun; of those that have ended only the one looked at last.
    pub programs: BTreeMap<u64, Arc<Program>>,
    /// Programs that have ended.
    pub done: Ranges,
    /// What ended programs have found.
    pub found: Arc<Sink>,
    /// What is known of pointers in memory; none before the first instruction.
    pub stored: Option<StoredPointers>,
    /// What programs that have begun read and wrote; of those that have ended only of the one looked at last.
    pub touches: BTreeMap<u64, Arc<Touches>>,
    /// What all others wrote.
    pub others: Arc<Touches>,
    /// Turns since a program wrote, began or ended.
    pub idle: u64,
    /// Instructions executed, in all.
    pub time: u64,
}

impl State {
    /// The same state with a program that is being walked, as it is now.
    pub fn with(
        &self,
        linear: u64,
        program: Program,
        touches: &Arc<Touches>,
        stored: StoredPointers,
    ) -> State {
        let mut state = State {
            stored: Some(stored),
            current: linear,
            ..self.clone()
        };
        state.programs.insert(linear, Arc::new(program));
        state.touches.insert(linear, touches.clone());
        state
    }

    /// Forgets the values of programs that have ended, all but those of `kept`.
    pub fn drop_done(&mut self, kept: u64) {
        let done = &self.done;
        self.programs
            .retain(|&linear, _| linear == kept || !done.contains(linear));
        let gone: Vec<u64> = self
            .touches
            .keys()
            .copied()
            .filter(|&t| t != kept && done.contains(t))
            .collect();
        for linear in gone {
            if let Some(touches) = self.touches.remove(&linear) {
                Arc::make_mut(&mut self.others).add_writes(&touches);
            }
        }
    }
}

/// A stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stretch {
    /// Instructions of one program.
    Walked {
        /// The program.
        linear: u64,
    },
    /// Whole programs on the fast path, one unit of time each.
    Whole {
        /// The first.
        first: u64,
    },
}

/// A stretch with its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// When it begins.
    pub start: u64,
    /// What ran.
    pub what: Stretch,
}

/// A moment that can be restored.
#[derive(Debug)]
struct Snapshot {
    state: State,
    bytes: usize,
    /// Pages written between this snapshot and the next, as they were.
    journal: Journal,
}

/// What was executed, and snapshots.
#[derive(Debug)]
pub struct History {
    segments: Vec<Segment>,
    /// When what was recorded ends; later than now after going back.
    end: u64,
    snapshots: Vec<Snapshot>,
    bound: usize,
    /// Work since the last snapshot.
    pub work: u64,
}

impl History {
    /// An empty history within so many bytes.
    pub fn new(bound: usize) -> History {
        History {
            segments: Vec::new(),
            end: 0,
            snapshots: Vec::new(),
            bound,
            work: 0,
        }
    }

    /// When what was recorded ends.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Notes that something of `what` is executed from `time` to `until`; what was recorded after `time` is void.
    pub fn record(&mut self, what: Stretch, time: u64, until: u64) {
        self.cut(time);
        let follows = match (self.segments.last(), what) {
            (Some(last), Stretch::Walked { .. }) => last.what == what,
            (
                Some(Segment {
                    start,
                    what: Stretch::Whole { first },
                }),
                Stretch::Whole { first: next },
            ) => first + (time - start) == next,
            _ => false,
        };
        if !follows {
            self.segments.push(Segment { start: time, what });
        }
        self.end = until;
    }

    /// Forgets what was recorded after `time`.
    pub fn cut(&mut self, time: u64) {
        while self.segments.last().is_some_and(|segment| segment.start >= time) {
            self.segments.pop();
        }
        self.end = self.end.min(time);
    }

    /// What runs at `time`, and when that stretch ends.
    pub fn at(&self, time: u64) -> Option<(Segment, u64)> {
        if time >= self.end {
            return None;
        }
        let next = self.segments.partition_point(|segment| segment.start <= time);
        let segment = *self.segments.get(next.checked_sub(1)?)?;
        let end = self.segments.get(next).map_or(self.end, |segment| segment.start);
        Some((segment, end))
    }

    /// The last stretch before a time in which programs were run as a whole, and its end.
    pub fn last_whole(&self, until: u64) -> Option<(Segment, u64)> {
        let stretches = self.segments(until).into_iter();
        stretches
            .rev()
            .find(|(segment, _)| matches!(segment.what, Stretch::Whole { .. }))
    }

    /// Notes that some programs of a stretch that ran as a whole are now known instruction by instruction: they end at
    /// `ends`. What comes later is later by what is given.
    pub fn unfold(&mut self, whole: Segment, first: u64, ends: &[u64]) -> u64 {
        let Segment {
            start,
            what: Stretch::Whole { first: begin },
        } = whole
        else {
            return 0;
        };
        let index = self.segments.partition_point(|segment| segment.start < start);
        let end = self.segments.get(index + 1).map_or(self.end, |next| next.start);
        let from = start + (first - begin);
        let programs = ends.len() as u64;
        let last = ends.last().copied().unwrap_or(from);
        let added = (last - from).saturating_sub(programs);
        let mut pieces = Vec::with_capacity(ends.len() + 2);
        if from > start {
            pieces.push(whole);
        }
        let starts = std::iter::once(from).chain(ends.iter().copied());
        pieces.extend(starts.zip(0..programs).map(|(start, i)| Segment {
            start,
            what: Stretch::Walked { linear: first + i },
        }));
        if from + programs < end {
            pieces.push(Segment {
                start: last,
                what: Stretch::Whole {
                    first: first + programs,
                },
            });
        }
        for later in self.segments.iter_mut().skip(index + 1) {
            later.start += added;
        }
        self.segments.splice(index..=index, pieces);
        self.end += added;
        added
    }

    /// All stretches up to a time, with their ends.
    pub fn segments(&self, until: u64) -> Vec<(Segment, u64)> {
        let ends = self
            .segments
            .iter()
            .skip(1)
            .map(|segment| segment.start)
            .chain([self.end]);
        let pairs = self.segments.iter().copied().zip(ends);
        pairs
            .filter(|(segment, _)| segment.start < until)
            .map(|(segment, end)| (segment, end.min(until)))
            .collect()
    }

    /// Times of the snapshots, rising.
    pub fn snapshot_times(&self) -> Vec<u64> {
        self.snapshots
            .iter()
            .map(|snapshot| snapshot.state.time)
            .collect()
    }

    /// Adds a snapshot; `journal` is of the time since the last one.
    pub fn push(&mut self, state: State, journal: Journal) {
        self.work = 0;
        match self.snapshots.last_mut() {
            Some(last) => last.journal.absorb(journal),
            None => drop(journal),
        }
        if self
            .snapshots
            .last()
            .is_some_and(|last| last.state.time == state.time)
        {
            return;
        }
        let own = state
            .programs
            .get(&state.current)
            .map_or(0, |program| program.bytes());
        let bytes = own + 1024 * (1 + state.programs.len());
        self.snapshots.push(Snapshot {
            state,
            bytes,
            journal: Journal::default(),
        });
        self.thin();
    }

    /// Forgets all snapshots: the tensors change in a way that no journal knows.
    pub fn forget(&mut self) {
        self.snapshots.clear();
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.snapshots.iter().map(|s| s.bytes + s.journal.bytes()).sum()
    }

    fn thin(&mut self) {
        while self.snapshots.len() > MAX_SNAPSHOTS || self.bytes() > self.bound {
            let now = self.snapshots.last().map_or(0, |s| s.state.time);
            let time = |i: usize| self.snapshots[i].state.time;
            // The first and the last stay, as long as others can go.
            let cost = |i: usize| (time(i + 1) - time(i - 1)) as f64 / (now - time(i)).max(1) as f64;
            let inner = 1..self.snapshots.len().saturating_sub(1);
            let least = inner.min_by(|&a, &b| cost(a).total_cmp(&cost(b)));
            match least {
                Some(i) => {
                    let gone = self.snapshots.remove(i);
                    if let Some(before) = self.snapshots.get_mut(i - 1) {
                        before.journal.absorb(gone.journal);
                    }
                }
                None if self.snapshots.len() > 1 => drop(self.snapshots.remove(0)),
                None => break,
            }
        }
    }

    /// Restores the last snapshot at or before `time`; `journal` is of the time since the last snapshot. None, and
    /// nothing is done, if there is no such snapshot.
    pub fn restore(
        &mut self,
        time: u64,
        journal: &mut dyn FnMut() -> Journal,
        memory: &mut Memory,
    ) -> Option<State> {
        let index = self.snapshots.iter().rposition(|s| s.state.time <= time)?;
        journal().undo(memory);
        while self.snapshots.len() > index + 1 {
            self.snapshots.pop();
            if let Some(last) = self.snapshots.last_mut() {
                std::mem::take(&mut last.journal).undo(memory);
            }
        }
        let last = self.snapshots.last()?;
        Some(last.state.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_join_where_they_touch() {
        let mut ranges = Ranges::default();
        for (first, end) in [(4, 6), (0, 2), (8, 9), (2, 3)] {
            ranges.add(first, end);
        }
        assert_eq!(ranges.iter().collect::<Vec<_>>(), [(0, 3), (4, 6), (8, 9)]);
        assert_eq!(
            (ranges.count(), ranges.first_gap(0), ranges.first_gap(3)),
            (6, 3, 3)
        );
        assert_eq!(
            (ranges.next_from(3), ranges.next_from(6), ranges.next_from(9)),
            (Some(4), Some(8), None)
        );
        ranges.add(1, 8);
        assert_eq!(ranges.iter().collect::<Vec<_>>(), [(0, 9)]);
        assert!(ranges.contains(8) && !ranges.contains(9));
    }

    fn state(time: u64) -> State {
        State {
            time,
            ..State::default()
        }
    }

    #[test]
    fn snapshots_grow_sparse_with_age_within_the_bound() {
        let mut history = History::new(64 * 1024);
        for time in 0..100_000 {
            history.push(state(time), Journal::default());
        }
        let times = history.snapshot_times();
        assert!(history.bytes() <= 64 * 1024 && times.len() > 16, "{times:?}");
        assert_eq!((times.first(), times.last()), (Some(&0), Some(&99_999)));
        // The gap before a moment is at most a fraction of its age, and small just now.
        for pair in times.windows(2) {
            let age = 99_999 - pair[0];
            assert!(pair[1] - pair[0] <= age.max(2), "{pair:?}");
        }
        assert!(times[times.len() - 1] - times[times.len() - 2] <= 2);
    }

    #[test]
    fn segments_say_what_runs_when() {
        let mut history = History::new(1);
        history.record(Stretch::Walked { linear: 0 }, 0, 5);
        history.record(Stretch::Walked { linear: 0 }, 5, 7);
        history.record(Stretch::Whole { first: 1 }, 7, 9);
        history.record(Stretch::Whole { first: 3 }, 9, 10);
        history.record(Stretch::Walked { linear: 4 }, 10, 20);
        assert_eq!(history.at(6).map(|(s, end)| (s.start, end)), Some((0, 7)));
        assert_eq!(history.at(9).map(|(s, end)| (s.start, end)), Some((7, 10)));
        assert_eq!(history.at(20), None);
        history.record(Stretch::Walked { linear: 2 }, 6, 8);
        assert_eq!(
            history.at(7).map(|(s, _)| s.what),
            Some(Stretch::Walked { linear: 2 })
        );
        assert_eq!(history.end(), 8);
    }

    #[test]
    fn what_ran_as_a_whole_is_unfolded_in_part() {
        let mut history = History::new(1);
        history.record(Stretch::Walked { linear: 0 }, 0, 5);
        history.record(Stretch::Whole { first: 1 }, 5, 9);
        history.record(Stretch::Walked { linear: 5 }, 9, 12);
        let (whole, end) = history.last_whole(12).expect("a stretch");
        assert_eq!((whole.start, end), (5, 9));
        // Programs 2 and 3, of ten instructions each.
        assert_eq!(history.unfold(whole, 2, &[16, 26]), 18);
        let whats: Vec<(u64, Stretch)> = history.segments.iter().map(|s| (s.start, s.what)).collect();
        assert_eq!(
            whats,
            [
                (0, Stretch::Walked { linear: 0 }),
                (5, Stretch::Whole { first: 1 }),
                (6, Stretch::Walked { linear: 2 }),
                (16, Stretch::Walked { linear: 3 }),
                (26, Stretch::Whole { first: 4 }),
                (27, Stretch::Walked { linear: 5 }),
            ]
        );
        assert_eq!(history.end(), 30);
        assert_eq!(
            history.last_whole(26).map(|(s, end)| (s.start, end)),
            Some((5, 6))
        );
    }
}
