//! The state of all programs, by runs of equal ones: as long as what differs, not as the grid.

use std::collections::BTreeSet;

use crate::session::Session;

/// What a program is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProgramState {
    /// It has not begun.
    Waiting,
    /// It has begun and not ended.
    Running,
    /// It has ended.
    Done,
    /// A check has found something in it.
    Finding,
}

/// Programs with neighbouring linear numbers in the same state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateRun {
    /// Linear number of the first.
    pub first: u64,
    /// How many.
    pub count: u64,
    /// Their state.
    pub state: ProgramState,
}

/// All programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GridView {
    /// Programs in x, y, z.
    pub grid: [u64; 3],
    /// The program that the session looks at.
    pub current: u64,
    /// Runs, rising, without gaps.
    pub runs: Vec<StateRun>,
}

impl GridView {
    /// How many programs are in a state.
    pub fn count(&self, state: ProgramState) -> u64 {
        self.runs
            .iter()
            .filter(|run| run.state == state)
            .map(|run| run.count)
            .sum()
    }

    /// The state of one program.
    pub fn state(&self, linear: u64) -> ProgramState {
        let next = self.runs.partition_point(|run| run.first <= linear);
        let run = next.checked_sub(1).and_then(|i| self.runs.get(i));
        run.map_or(ProgramState::Waiting, |run| run.state)
    }
}

impl Session {
    /// The state of all programs now. A finding is shown at the first program that has it.
    pub fn grid(&self) -> GridView {
        let total = self.programs();
        let mut faulty: BTreeSet<u64> = self
            .state
            .found
            .entries
            .values()
            .map(|entry| entry.linear)
            .collect();
        for program in self.state.programs.values() {
            faulty.extend(program.sink.entries.values().map(|entry| entry.linear));
        }
        // Numbers at which the state may change.
        let mut cuts: BTreeSet<u64> = BTreeSet::from([0]);
        for (first, end) in self.state.done.iter() {
            cuts.extend([first, end]);
        }
        for &linear in faulty.iter().chain(self.state.programs.keys()) {
            cuts.extend([linear, linear + 1]);
        }
        let state = |linear: u64| {
            if faulty.contains(&linear) {
                ProgramState::Finding
            } else if self.state.done.contains(linear) {
                ProgramState::Done
            } else if self
                .state
                .programs
                .get(&linear)
                .is_some_and(|program| program.ticks > 0)
            {
                ProgramState::Running
            } else {
                ProgramState::Waiting
            }
        };
        let mut runs: Vec<StateRun> = Vec::new();
        let starts: Vec<u64> = cuts.into_iter().filter(|&cut| cut < total).collect();
        for (i, &first) in starts.iter().enumerate() {
            let end = starts.get(i + 1).copied().unwrap_or(total);
            let state = state(first);
            match runs.last_mut() {
                Some(last) if last.state == state => last.count += end - first,
                _ => runs.push(StateRun {
                    first,
                    count: end - first,
                    state,
                }),
            }
        }
        GridView {
            grid: self.engine.launch.grid,
            current: self.state.current,
            runs,
        }
    }
}
