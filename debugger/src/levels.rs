//! Calls that no operation is executed for.
//!
//! Helpers are inlined, so a line that only calls one has no operation of its own: the first operation of the helper is
//! the first that is executed for both lines. A moment before such an operation stands on several lines at once, one per
//! level of calls; the session keeps which of them the user sees. To step into the helper is to see the next one, without
//! executing anything.

use std::ops::RangeInclusive;
use std::sync::Arc;

use tilescope_diagnostics::{Frame, Location};
use tilescope_interpreter::tape::What;
use tilescope_ir::{Loc, LocId};

use crate::code::Code;
use crate::session::Session;
use crate::values::ValueKey;

/// The level seen at one moment of one program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    time: u64,
    program: u64,
    level: u32,
}

impl Code {
    /// The levels of calls, outermost 0, on which a new line begins at `position`, executed after `last` (which jumped
    /// back or not).
    pub fn new_levels(&self, last: Option<u32>, back: bool, position: u32) -> Option<RangeInclusive<u32>> {
        let stack = self.stack(position).filter(|stack| !stack.is_empty())?;
        let deepest = stack.len() as u32 - 1;
        let Some(before) = last.and_then(|last| self.stack(last)) else {
            return Some(0..=deepest);
        };
        let same = stack
            .iter()
            .zip(before.iter())
            .take_while(|(a, b)| a == b)
            .count();
        if same < stack.len() {
            return Some(same as u32..=deepest);
        }
        // Coming back to the line that called is no new line.
        back.then_some(deepest..=deepest)
    }

    /// The outermost level of calls on which `position` stands on a line.
    pub fn level_of(&self, line: (u32, u32), position: u32) -> Option<u32> {
        let level = self.stack(position)?.iter().position(|&other| other == line)?;
        Some(level as u32)
    }

    /// What is passed to the helper that `position` is in, seen on a level: names of parameters and values.
    pub fn passed(&self, position: u32, level: u32) -> Vec<(Arc<str>, ValueKey)> {
        let Some(origin) = self.placed_origin(position) else {
            return Vec::new();
        };
        let What::Op(op) = origin.what else {
            return Vec::new();
        };
        let caller = |loc: LocId| match self.module.locs.get(loc) {
            Loc::CallSite { caller, .. } => Some(*caller),
            _ => None,
        };
        let mut call = caller(self.module.funcs[origin.func].ops[op].loc);
        for _ in level..self.depth(position) {
            call = call.and_then(caller);
        }
        let entries = call.and_then(|call| self.passed.get(&(origin.func, call)));
        let entries = entries.into_iter().flatten();
        entries
            .filter_map(|(name, value)| Some((name.clone(), self.key_of(origin, *value)?)))
            .collect()
    }

    /// The place of a call that leads to `position`, by its level.
    pub fn call_location(&self, position: u32, level: u32) -> Option<Location> {
        let stack = self.stack(position)?;
        let (file, line) = *stack.get(level as usize)?;
        let file = self.files.get(file as usize)?;
        let chain = self.location(position).map_or(Vec::new(), |own| own.inlined_at);
        let matches = |frame: &Frame| frame.line == line && *frame.file == **file;
        let frame = chain.iter().find(|frame| matches(frame)).cloned();
        Some(Location {
            frame: frame.unwrap_or_else(|| Frame {
                file: file.to_string(),
                line,
                column: 0,
                function: None,
            }),
            inlined_at: Vec::new(),
        })
    }
}

impl Session {
    /// The level of calls that the user sees: of the operation itself, unless helpers are entered here.
    pub(crate) fn level(&self) -> u32 {
        let program = self.program().filter(|program| !program.ended);
        let deepest = program.map_or(0, |program| self.code.depth(program.position));
        match self.seen {
            Some(seen) if (seen.time, seen.program) == (self.state.time, self.state.current) => {
                seen.level.min(deepest)
            }
            // The line that a program begins with is the kernel's.
            _ if program.is_some_and(|program| program.ticks == 0) => 0,
            _ => deepest,
        }
    }

    /// Shows the line of another level at this moment.
    pub(crate) fn see(&mut self, level: u32) {
        self.seen = Some(Seen {
            time: self.state.time,
            program: self.state.current,
            level,
        });
    }

    /// The levels on which a line begins at this moment.
    pub(crate) fn levels_here(&self) -> Option<RangeInclusive<u32>> {
        let program = self.program().filter(|program| !program.ended)?;
        self.code
            .new_levels(program.last, program.went_back, program.position)
    }
}
