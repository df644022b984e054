//! Where we are: the place that errors point to, and the IR location of the operations that are made.
//!
//! A location is a file, a line and a column (in bytes, as Python counts them, from 1), inside the name of the
//! variable that is being assigned, inside the place of the call when the function is inlined there.

use std::rc::Rc;
use std::sync::Arc;

use tilescope_ir::{Loc, LocId};

use crate::ast::{Name, Span};
use crate::cx::{Cx, Mode, Place};
use crate::source::ModuleId;

/// Where the lines of a file start.
#[derive(Debug, Clone)]
pub(crate) struct LineIndex {
    /// The path as locations write it.
    file: Arc<str>,
    /// First byte of each line.
    starts: Rc<[u32]>,
}

impl LineIndex {
    fn of(file: &str, text: &str) -> LineIndex {
        let breaks = text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
        LineIndex {
            file: file.into(),
            starts: std::iter::once(0)
                .chain(breaks.map(|(i, _)| i as u32 + 1))
                .collect(),
        }
    }

    /// 1-based line and column in bytes.
    fn line_column(&self, offset: u32) -> (u32, u32) {
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        (line as u32, offset - start.min(offset) + 1)
    }
}

/// What [`Cx::enter`] replaced.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entered {
    place: Place,
    loc: LocId,
}

impl Cx<'_> {
    /// Moves to a place in the current file: errors and operations belong to it, until [`Cx::leave`].
    pub(crate) fn enter(&mut self, span: Span) -> Entered {
        let entered = Entered {
            place: self.place,
            loc: self.b.location(),
        };
        self.place.span = span;
        if self.scope.mode == Mode::Jit {
            let loc = self.location();
            self.b.at(loc);
        }
        entered
    }

    /// Moves back.
    pub(crate) fn leave(&mut self, entered: Entered) {
        self.place = entered.place;
        self.b.at(entered.loc);
    }

    /// The location of operations made here.
    pub(crate) fn location(&mut self) -> LocId {
        let mut loc = self.file_location(self.place.module, self.place.span.start);
        if let Some(target) = self.scope.target.clone() {
            loc = self.name_location(&target, loc);
        }
        match self.frames.last() {
            Some(frame) if frame.call_loc != LocId::unknown() => self.locs.intern(Loc::CallSite {
                callee: loc,
                caller: frame.call_loc,
            }),
            _ => loc,
        }
    }

    /// The location of a byte of a file.
    pub(crate) fn file_location(&mut self, module: ModuleId, offset: u32) -> LocId {
        if let Some(&loc) = self.file_locations.get(&(module, offset)) {
            return loc;
        }
        let program = self.program;
        let index = self
            .lines
            .entry(module)
            .or_insert_with(|| LineIndex::of(&program.path(module), &program.source(module).text));
        let (line, column) = index.line_column(offset);
        let file = index.file.clone();
        let loc = self.locs.intern(Loc::File {
            file,
            line,
            column,
            end: None,
        });
        self.file_locations.insert((module, offset), loc);
        loc
    }

    /// A location inside a variable's name.
    pub(crate) fn name_location(&mut self, name: &Name, child: LocId) -> LocId {
        self.locs.intern(Loc::Name {
            name: (&**name).into(),
            child,
        })
    }

    /// The line of the current place, for messages.
    pub(crate) fn line_of(&mut self, span: Span) -> u32 {
        let loc = self.file_location(self.place.module, span.start);
        match self.locs.get(loc) {
            Loc::File { line, .. } => *line,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one_and_columns_in_bytes() {
        let index = LineIndex::of("k.py", "a = 1\n  é = 2\n");
        assert_eq!(index.line_column(0), (1, 1));
        assert_eq!(index.line_column(4), (1, 5));
        assert_eq!(index.line_column(6), (2, 1));
        assert_eq!(index.line_column(11), (2, 6));
        assert_eq!(index.line_column(1000).0, 3);
    }
}
