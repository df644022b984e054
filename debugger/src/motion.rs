//! Commands that move.

use std::ops::RangeInclusive;

use tilescope_diagnostics::{Check, Error, Finding, Result};
use tilescope_interpreter::sink::Key;

use crate::breakpoints::{Breakpoints, Hit};
use crate::code::Code;
use crate::command::{BreakAt, Command, Schedule};
use crate::reply::{Reason, Stopped};
use crate::session::Session;
use crate::walk::{Arrival, Walk, WalkEnd};

/// Turns without a write, beside some of every program, after which all wait in vain.
const PATIENCE: u64 = 4096;

/// Programs that are under way at once when they are interleaved.
const RESIDENT: usize = 8;

/// Most instructions of a turn when programs are interleaved.
const LONGEST_TURN: u64 = 16;

/// A moment to go to, from where the program stands.
#[derive(Debug, Clone)]
pub(crate) enum Goal {
    /// The next line; not deeper than this.
    Line { deepest: u32 },
    /// Out of the helper at this depth.
    Out { depth: u32 },
    /// The next operation.
    Op,
    /// A line, or a helper that it calls.
    Reach { line: (u32, u32) },
    /// The end of the launch.
    End,
}

impl Goal {
    /// The levels of calls on which a moment satisfies the goal, if it does.
    pub(crate) fn reached(&self, code: &Code, arrival: &Arrival<'_>) -> Option<RangeInclusive<u32>> {
        if arrival.ended {
            return None;
        }
        let position = arrival.position;
        let here = code.depth(position);
        let new = || code.new_levels(arrival.last, arrival.back, position);
        match self {
            Goal::Line { deepest } => new()
                .filter(|levels| levels.start() <= deepest)
                .map(|levels| *levels.start()..=(*levels.end()).min(*deepest)),
            Goal::Out { depth } => {
                let level = new().map_or(here, |levels| *levels.start());
                (level < *depth).then_some(level..=level)
            }
            Goal::Op => code
                .starts_op(arrival.last, arrival.back, position)
                .then_some(here..=here),
            Goal::Reach { line } => {
                let enters = code.enters_line(*line, arrival.last, arrival.back, position);
                let level = code.level_of(*line, position).filter(|_| enters)?;
                Some(level..=level)
            }
            Goal::End => None,
        }
    }
}

impl Session {
    /// Does a command that moves.
    pub(crate) fn go(&mut self, command: Command) -> Result<Stopped> {
        let begun = (self.state.time, self.state.current, self.level());
        let counts = !matches!(
            command,
            Command::Undo | Command::Restart | Command::GotoFinding(_)
        );
        // Time may be counted anew on the way, and this with it.
        if counts {
            self.moves.push(begun);
        }
        let result = self.moved(command);
        let begun = if counts {
            self.moves.last().copied()
        } else {
            Some(begun)
        };
        let here = (self.state.time, self.state.current, self.level());
        if counts && (result.is_err() || begun == Some(here)) {
            self.moves.pop();
        }
        if result.is_ok() {
            self.moved_from = begun.map_or(self.state.time, |begun| begun.0);
        }
        result
    }

    fn moved(&mut self, command: Command) -> Result<Stopped> {
        if self.programs() == 0 {
            return Err(Error::input("the grid is empty: there is no program to run"));
        }
        let depth = self.level();
        match command {
            Command::Step { count, back } => self.repeat(count, back, &|_| Goal::Line { deepest: u32::MAX }),
            Command::Next { count, back } => self.repeat(count, back, &|depth| Goal::Line { deepest: depth }),
            Command::StepOp { count, back } => self.repeat(count, back, &|_| Goal::Op),
            Command::Out { count, back } => {
                let levels = u32::try_from(count).unwrap_or(u32::MAX).max(1);
                match (back, depth.checked_sub(levels)) {
                    (false, caller) => {
                        let depth = caller.map_or(0, |caller| caller + 1);
                        self.forward(&Goal::Out { depth }, 1)
                    }
                    (true, Some(deepest)) => self.backward(1, &Goal::Line { deepest }),
                    (true, None) => self.go_to_beginning_of_program(),
                }
            }
            Command::Continue { count, back } => {
                let mut stopped = None;
                for _ in 0..count {
                    let next = match back {
                        false => self.forward(&Goal::End, 1)?,
                        true => self.back_to_stop()?,
                    };
                    let over = matches!(
                        next.reason,
                        Reason::LaunchEnd
                            | Reason::Beginning
                            | Reason::Interrupted
                            | Reason::Deadlock
                            | Reason::Limit
                    );
                    stopped = Some(next);
                    if over {
                        break;
                    }
                }
                Ok(stopped.unwrap_or_else(|| self.stopped(Reason::Stepped)))
            }
            Command::Until(at) => {
                let BreakAt::Line(file, line) = at else {
                    return Err(
                        Error::input("`until` goes to a line").help("`tbreak op:NAME` stops at an operation")
                    );
                };
                let (file, found, _) = self.resolve(file.as_deref(), line)?;
                let mut stopped = self.forward(&Goal::Reach { line: (file, found) }, 1)?;
                if found != line {
                    stopped.notes.push(format!(
                        "line {line} has no code: line {found} is the next that has"
                    ));
                }
                Ok(stopped)
            }
            Command::Program(program) => self.switch_to(program),
            Command::NextProgram => self.next_program(),
            Command::Restart => {
                self.rewind()?;
                self.history.cut(0);
                self.moves.clear();
                Ok(self.stopped(Reason::Start))
            }
            Command::GotoFinding(number) => self.goto_finding(number),
            Command::Undo => self.undo(),
            _ => Ok(self.stopped(Reason::Stepped)),
        }
    }

    fn repeat(&mut self, count: u64, back: bool, goal: &dyn Fn(u32) -> Goal) -> Result<Stopped> {
        let next = goal(self.level());
        if !matches!(next, Goal::Line { deepest } if deepest != u32::MAX) {
            // The goal is the same at every step.
            return self.go_towards(count, back, &next);
        }
        let mut stopped = self.stopped(Reason::Stepped);
        for _ in 0..count {
            stopped = self.go_towards(1, back, &goal(self.level()))?;
            if stopped.reason != Reason::Stepped {
                break;
            }
        }
        Ok(stopped)
    }

    fn go_towards(&mut self, count: u64, back: bool, goal: &Goal) -> Result<Stopped> {
        if back {
            return self.backward(count, goal);
        }
        // Helpers that are entered at this moment.
        let inner = match (goal, self.program()) {
            (Goal::Line { deepest: u32::MAX }, Some(program)) if !program.ended => {
                u64::from(self.code.depth(program.position) - self.level())
            }
            _ => 0,
        };
        if count <= inner {
            self.see(self.level() + count as u32);
            return Ok(self.stopped(Reason::Stepped));
        }
        self.forward(goal, count - inner)
    }

    /// Goes on until the goal is reached for the `count`-th time, or something stops it.
    fn forward(&mut self, goal: &Goal, count: u64) -> Result<Stopped> {
        let home = self.state.current;
        let mut stops = std::mem::take(&mut self.stops);
        let result = self.drive((goal, count), home, &mut stops);
        stops.list.retain(|b| !b.once || b.enabled);
        self.stops = stops;
        let (reason, hit) = result?;
        match hit {
            Some(hit) => self.stopped_at(&hit),
            None => {
                let mut stopped = self.stopped(reason);
                for breakpoint in &self.stops.list {
                    if let Some(why) = breakpoint.unevaluated.take() {
                        stopped.notes.push(format!(
                            "breakpoint {} was reached where its condition cannot be evaluated: {why}",
                            breakpoint.id
                        ));
                    }
                }
                Ok(stopped)
            }
        }
    }

    fn drive(
        &mut self,
        (goal, count): (&Goal, u64),
        home: u64,
        stops: &mut Breakpoints,
    ) -> Result<(Reason, Option<Hit>)> {
        let through = matches!(goal, Goal::End);
        let mut left = count.max(1);
        self.ensure_started();
        loop {
            if self.engine.interrupted() {
                return Ok((Reason::Interrupted, None));
            }
            if self.program().is_none_or(|program| program.ended) {
                let over = self.state.current == home || self.state.done.contains(home);
                if !through && over {
                    return Ok((Reason::ProgramEnd, None));
                }
                if let (false, Schedule::Interleave(seed)) = (through, self.schedule) {
                    self.state.current = self.any_resident(seed);
                    self.ensure_started();
                    continue;
                }
                match self.enter_next(stops)? {
                    Entered::Nothing => return Ok((Reason::LaunchEnd, None)),
                    Entered::Interrupted => return Ok((Reason::Interrupted, None)),
                    Entered::Stop(hit) => return Ok((Reason::Stepped, Some(hit))),
                    Entered::Program => {}
                }
            }
            let interleave = match self.schedule {
                Schedule::Interleave(seed) => Some(seed),
                _ => None,
            };
            let turn = interleave.map(|seed| 1 + random(seed, self.state.time) % LONGEST_TURN);
            let how = Walk {
                max: turn.unwrap_or(u64::MAX),
                yields: through || interleave.is_some(),
                record: true,
            };
            let mut hit = None;
            let mut reached = None;
            let end = self.walk(how, &mut |code, arrival| {
                if let Some(found) = stops.hit(code, arrival)
                    && stops.count(&found)
                {
                    hit = Some(found);
                    return true;
                }
                if arrival.linear == home
                    && let Some(levels) = goal.reached(code, arrival)
                {
                    let (first, last) = levels.into_inner();
                    // Into helpers one level at a time; over them there is only the line that calls.
                    let last = if matches!(goal, Goal::Line { deepest: u32::MAX }) {
                        last
                    } else {
                        first
                    };
                    let stops = u64::from(last - first) + 1;
                    match left <= stops {
                        true => reached = Some(first + (left - 1) as u32),
                        false => left -= stops,
                    }
                }
                reached.is_some()
            });
            if hit.is_some() {
                return Ok((Reason::Stepped, hit));
            }
            if let Some(level) = reached {
                self.see(level);
                return Ok((Reason::Stepped, None));
            }
            match end {
                WalkEnd::Interrupted => return Ok((Reason::Interrupted, None)),
                WalkEnd::Ended | WalkEnd::Asked if !through && self.state.current == home => {
                    return Ok((Reason::ProgramEnd, None));
                }
                WalkEnd::Yielded | WalkEnd::Far => {
                    if self.is_crowded() {
                        return Err(Error::unsupported(
                            "programs that wait for others hold more than 1 GB of values",
                        ));
                    }
                    let waiting = self.state.programs.len() as u64;
                    if self.state.idle > PATIENCE + 4 * waiting {
                        return Ok((Reason::Deadlock, None));
                    }
                    self.state.current = match interleave {
                        Some(seed) => self.any_resident(seed),
                        None => self.next_in_turn(),
                    };
                }
                _ => {}
            }
        }
    }

    /// The program that begins next: the lowest, or the next of the shuffled ones.
    fn next_to_begin(&self) -> Option<u64> {
        let total = self.programs();
        if let Schedule::Random(seed) = self.schedule {
            let left = total - self.state.done.count();
            if left == 0 {
                return None;
            }
            let start = random(seed, self.state.time) % total;
            let gap = self.state.done.first_gap(start);
            return Some(if gap < total {
                gap
            } else {
                self.state.done.first_gap(0)
            });
        }
        let lowest = self.state.done.first_gap(0);
        (lowest < total).then_some(lowest)
    }

    /// The program whose turn it is after one that gave way: one that has not begun, else the next that waits.
    fn next_in_turn(&self) -> u64 {
        let total = self.programs();
        let mut fresh = self.state.done.first_gap(0);
        while fresh < total && self.state.programs.contains_key(&fresh) {
            fresh = self.state.done.first_gap(fresh + 1);
        }
        if fresh < total {
            return fresh;
        }
        let current = self.state.current;
        let running = |linear: &u64| !self.state.done.contains(*linear);
        let after = self
            .state
            .programs
            .range(current + 1..)
            .map(|(&linear, _)| linear)
            .find(running);
        let first = || self.state.programs.keys().copied().find(running);
        after.or_else(first).unwrap_or(current)
    }

    /// One of some programs that are under way, at random.
    fn any_resident(&self, seed: u64) -> u64 {
        let total = self.programs();
        let mut resident: Vec<u64> = self.state.programs.keys().copied().collect();
        resident.retain(|&linear| !self.state.done.contains(linear));
        let mut fresh = self.state.done.first_gap(0);
        while resident.len() < RESIDENT && fresh < total {
            if !self.state.programs.contains_key(&fresh) {
                resident.push(fresh);
            }
            fresh = self.state.done.first_gap(fresh + 1);
        }
        let pick = random(seed ^ 0x5bd1_e995, self.state.time) % resident.len().max(1) as u64;
        resident.get(pick as usize).copied().unwrap_or(self.state.current)
    }

    /// Goes on to the next program that has not ended, past those in which nothing can stop the session.
    fn enter_next(&mut self, stops: &mut Breakpoints) -> Result<Entered> {
        if let Schedule::Interleave(seed) = self.schedule
            && self.state.done.count() < self.programs()
        {
            self.state.current = self.any_resident(seed);
            self.ensure_started();
            return Ok(Entered::Program);
        }
        loop {
            let Some(next) = self.next_to_begin() else {
                return Ok(Entered::Nothing);
            };
            let end = self.uninteresting(next, stops);
            if end <= next {
                self.state.current = next;
                self.ensure_started();
                return Ok(match self.at_start(stops) {
                    Some(hit) => Entered::Stop(hit),
                    None => Entered::Program,
                });
            }
            let before = self.state.time;
            let known: std::collections::BTreeSet<Key> = self.sink().entries.keys().copied().collect();
            let Some(sink) = self.race(next, end)? else {
                self.recover(before)?;
                return Ok(Entered::Interrupted);
            };
            let new = sink.entries.iter().filter(|(key, _)| !known.contains(key));
            let first = new.map(|(_, entry)| entry.linear).min();
            match first.filter(|_| stops.at_findings) {
                None => {
                    self.raced(next, end, sink, true);
                    self.state.current = end - 1;
                    self.snapshot();
                }
                Some(first) => {
                    // Again up to the program that found it, which is then walked.
                    self.recover(before)?;
                    if first > next {
                        match self.race(next, first)? {
                            Some(sink) => self.raced(next, first, sink, true),
                            None => {
                                self.recover(before)?;
                                return Ok(Entered::Interrupted);
                            }
                        }
                    }
                    self.state.current = first;
                    self.ensure_started();
                    self.snapshot();
                    return Ok(Entered::Program);
                }
            }
        }
    }

    /// After something that no journal knows: to the time before it.
    fn recover(&mut self, time: u64) -> Result<()> {
        self.rewind()?;
        self.replay(time, &mut |_, _| {})?;
        Ok(())
    }

    /// The end of the programs from `next` on that may run as a whole, on the fast path.
    fn uninteresting(&self, next: u64, stops: &Breakpoints) -> u64 {
        let fast = self.schedule == Schedule::Sequential && self.is_parallel();
        let Some(ranges) = stops.only_in_programs().filter(|_| fast) else {
            return next;
        };
        let mut end = self.programs();
        for range in ranges {
            if range.contains(&next) {
                return next;
            }
            if range.start > next {
                end = end.min(range.start);
            }
        }
        if self
            .state
            .programs
            .keys()
            .any(|&linear| linear == next && !self.state.done.contains(linear))
        {
            return next;
        }
        let begun = self.state.programs.keys().copied().find(|&linear| linear > next);
        let done = self.state.done.next_from(next);
        end.min(begun.unwrap_or(u64::MAX)).min(done.unwrap_or(u64::MAX))
    }

    /// A breakpoint at the first instruction of a program.
    fn at_start(&mut self, stops: &mut Breakpoints) -> Option<Hit> {
        let program = self.program()?.clone();
        if program.ticks > 0 || program.ended {
            return None;
        }
        let arrival = Arrival::at(&program, self.state.time);
        let hit = stops.hit(&self.code, &arrival)?;
        stops.count(&hit).then_some(hit)
    }

    /// The stop that a hit is.
    fn stopped_at(&mut self, hit: &Hit) -> Result<Stopped> {
        let reason = self.reason_of(hit);
        self.see_line_of(hit);
        Ok(self.stopped(reason))
    }

    /// Shows the line that a breakpoint stands on, where helpers are entered on it.
    pub(crate) fn see_line_of(&mut self, hit: &Hit) {
        let program = self.program().filter(|program| !program.ended);
        if let (Hit::Breakpoint(id), Some(program)) = (hit, program)
            && let Some(level) = self
                .stops
                .find(*id)
                .and_then(|breakpoint| breakpoint.level(&self.code, program.position))
        {
            self.see(level);
        }
    }

    /// The reason that a hit is.
    pub(crate) fn reason_of(&mut self, hit: &Hit) -> Reason {
        match hit {
            Hit::Breakpoint(id) => {
                let hits = self.stops.find(*id).map_or(1, |b| b.hits);
                Reason::Breakpoint { id: *id, hits }
            }
            Hit::Value(id) => {
                let text = self.stops.find(*id).map_or_else(String::new, |b| b.text.clone());
                Reason::ValueChanged { id: *id, text }
            }
            Hit::Memory(id, access) => self.watch_reason(*id, access),
            Hit::Finding(key) => self.finding_reason(key),
        }
    }

    fn finding_reason(&mut self, key: &Key) -> Reason {
        let mut alone = self.sink();
        alone.entries.retain(|other, _| other == key);
        let wanted = self.report(|reporter| reporter.findings(&mut alone, &[], false));
        let all = self.findings();
        let found = wanted.into_iter().next().and_then(|wanted| {
            let same = |f: &Finding| {
                f.check == wanted.check && f.location == wanted.location && f.tensor == wanted.tensor
            };
            let index = all.iter().position(same)?;
            Some((index, all[index].clone()))
        });
        match found {
            Some((index, finding)) => Reason::Finding {
                number: index + 1,
                finding: Box::new(finding),
            },
            None => Reason::Stepped,
        }
    }

    fn switch_to(&mut self, program: [u64; 3]) -> Result<Stopped> {
        let grid = self.engine.launch.grid;
        if program.iter().zip(&grid).any(|(index, size)| index >= size) {
            let [x, y, z] = program;
            let [gx, gy, gz] = grid;
            return Err(Error::input(format!("there is no program ({x}, {y}, {z})"))
                .note(format!("the grid is ({gx}, {gy}, {gz})")));
        }
        let linear = program[0] + grid[0] * (program[1] + grid[1] * program[2]);
        self.look_at(linear)
    }

    fn look_at(&mut self, linear: u64) -> Result<Stopped> {
        if self.state.done.contains(linear) && !self.state.programs.contains_key(&linear) {
            let [x, y, z] = self.coordinates(linear);
            return Err(Error::input(format!("program ({x}, {y}, {z}) has ended"))
                .help("`rcontinue` or `restart` go back to before that"));
        }
        self.state.current = linear;
        self.ensure_started();
        Ok(self.stopped(Reason::Switched))
    }

    fn next_program(&mut self) -> Result<Stopped> {
        let total = self.programs();
        let after = self.state.done.first_gap(self.state.current + 1);
        let next = if after < total {
            after
        } else {
            self.state.done.first_gap(0)
        };
        match next < total {
            true => self.look_at(next),
            false => Ok(self.stopped(Reason::LaunchEnd)),
        }
    }

    fn undo(&mut self) -> Result<Stopped> {
        let Some((time, current, level)) = self.moves.pop() else {
            return Err(Error::input("there is no move to undo"));
        };
        if time > self.history.end() {
            return Err(Error::input("what came after is no longer known"));
        }
        let interrupted = self.seek(time)?;
        self.state.current = current;
        self.ensure_started();
        self.see(level);
        // Not a move of its own: undoing twice goes back twice.
        let stopped = self.stopped(if interrupted {
            Reason::Interrupted
        } else {
            Reason::Stepped
        });
        Ok(stopped)
    }

    fn goto_finding(&mut self, number: u64) -> Result<Stopped> {
        if let Some((own, finding)) = self.brought.clone().filter(|(own, _)| *own == number) {
            return self.goto_brought(own, finding);
        }
        let index = usize::try_from(number).ok().and_then(|n| n.checked_sub(1));
        let mut findings = self.findings();
        let known = index.is_some_and(|index| index < findings.len());
        if !known {
            // Perhaps it is still to be made.
            self.run_to_end()?;
            findings = self.findings();
        }
        let Some(finding) = index.and_then(|index| findings.get(index)) else {
            let count = findings.len() as u64;
            let has = tilescope_diagnostics::render::number::counted(count, "finding");
            return Err(Error::input(format!(
                "there is no finding {number}: the launch has {has}"
            )));
        };
        let Some(program) = finding.program else {
            return Err(Error::input(
                "this finding is about the whole launch: no operation made it",
            ));
        };
        let finding = finding.clone();
        let key = self.key_of(&finding);
        self.begin_again_at(program)?;
        let mut reached = false;
        let how = Walk {
            max: u64::MAX,
            yields: false,
            record: true,
        };
        self.walk(how, &mut |_, arrival| {
            reached = arrival.finding.is_some() && (arrival.finding == key || key.is_none());
            reached
        });
        let mut stopped = self.stopped(Reason::Finding {
            number: number as usize,
            finding: Box::new(finding),
        });
        if !reached {
            stopped
                .notes
                .push(String::from("found by other programs before this one"));
        }
        Ok(stopped)
    }

    /// Goes to the start of a program, as if nothing had run but those before it.
    fn begin_again_at(&mut self, program: [u32; 3]) -> Result<()> {
        self.rewind()?;
        self.history.cut(0);
        self.moves.clear();
        let [x, y, z] = program.map(u64::from);
        let grid = self.engine.launch.grid;
        self.go_to_program(x + grid[0] * (y + grid[1] * z))
    }

    /// Goes behind the operation of a finding that this session does not make itself: of a race, to the access of the
    /// second program that touches the element; else to the first time that its program is there.
    fn goto_brought(&mut self, number: u64, finding: Finding) -> Result<Stopped> {
        let (Some(program), Some(place)) = (finding.program, finding.location.clone()) else {
            return Err(Error::input(
                "this finding is about the whole launch: no operation made it",
            ));
        };
        let is_race = matches!(
            finding.check,
            Check::RaceWriteWrite | Check::RaceReadWrite | Check::BenignRace
        );
        let tensor = finding.tensor.as_ref().filter(|_| is_race);
        let tensors = &self.engine.launch.tensors;
        let touched = tensor.and_then(|tensor| {
            let known = tensors.iter().find(|known| known.name == tensor.name)?;
            let start = u64::try_from(finding.byte_offset?).ok()?;
            Some((known.allocation.0 as usize, start..start + 1))
        });
        self.begin_again_at(program)?;
        let mut reached = false;
        let how = Walk {
            max: u64::MAX,
            yields: false,
            record: true,
        };
        self.walk(how, &mut |code, arrival| {
            let is_there = arrival
                .last
                .and_then(|last| code.location(last))
                .is_some_and(|here| {
                    here.frame.file == place.frame.file && here.frame.line == place.frame.line
                });
            reached = is_there
                && touched.as_ref().is_none_or(|(allocation, bytes)| {
                    let bytes = std::slice::from_ref(bytes);
                    arrival
                        .accesses
                        .iter()
                        .any(|access| access.touches(*allocation, bytes))
                });
            reached
        });
        let note = match (reached, is_race) {
            (false, _) => "this program did not come there alone: it may depend on what others do",
            (true, true) => {
                "the session looks for no races: this is the second access, the finding says who made the first"
            }
            (true, false) => {
                "the session does not look for this: here its program is at the operation for the first time"
            }
        };
        let mut stopped = self.stopped(Reason::Finding {
            number: number as usize,
            finding: Box::new(finding),
        });
        stopped.notes.push(String::from(note));
        Ok(stopped)
    }

    /// The key under which a finding was noted.
    fn key_of(&mut self, finding: &Finding) -> Option<Key> {
        let sink = self.sink();
        let keys: Vec<Key> = sink.entries.keys().copied().collect();
        keys.into_iter()
            .find(|key| key.check == finding.check && self.code.location_at(key.at) == finding.location)
    }

    /// Runs all that is left, stopping at nothing.
    pub(crate) fn run_to_end(&mut self) -> Result<()> {
        let mut none = Breakpoints::default();
        none.at_findings = false;
        let home = self.state.current;
        self.drive((&Goal::End, 1), home, &mut none).map(|_| ())
    }

    /// From the beginning of the launch to the beginning of a program, after those before it.
    fn go_to_program(&mut self, linear: u64) -> Result<()> {
        if self.is_parallel() && linear > 0 {
            if let Some(sink) = self.race(0, linear)? {
                self.raced(0, linear, sink, true);
            }
            self.state.current = linear;
            self.ensure_started();
            self.snapshot();
            return Ok(());
        }
        for before in 0..linear {
            self.state.current = before;
            self.walk(
                Walk {
                    max: u64::MAX,
                    yields: false,
                    record: true,
                },
                &mut |_, _| false,
            );
            if self.engine.interrupted() {
                break;
            }
        }
        self.state.current = linear;
        self.ensure_started();
        Ok(())
    }
}

/// What came after a program's end.
enum Entered {
    /// All have ended.
    Nothing,
    /// The next program.
    Program,
    /// The next program, at whose beginning something stops.
    Stop(Hit),
    /// The user interrupted it.
    Interrupted,
}

/// A number that depends on both in no simple way.
fn random(seed: u64, time: u64) -> u64 {
    let mut x = seed
        .wrapping_add(time.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
