//! Which accesses of a launch are noted to find races, and noting them where they are made.

use super::{Noted, SharedCells, Touch, Who};
use crate::access::{Memory, Piece};
use crate::analysis::pointees::{Storages, Touched};
use crate::tape::At;
use std::ops::Range;

/// The allocations whose accesses are to be noted: some program writes there, and another access may meet it.
pub fn watched(touched: &Touched, programs: u64) -> Storages {
    match programs {
        0 | 1 => Storages::NONE,
        _ => touched.stored.union(touched.updated.both(touched.loaded)),
    }
}

/// Which accesses of a launch are noted.
#[derive(Debug, Default)]
pub struct Watch {
    /// The allocations.
    pub watched: Storages,
    cells: SharedCells,
}

impl Watch {
    /// Notes accesses to these allocations.
    pub fn new(watched: Storages) -> Watch {
        Watch {
            watched,
            cells: SharedCells::default(),
        }
    }

    /// Notes that a program touched a piece.
    #[inline]
    #[allow(
        clippy::too_many_arguments,
        reason = "one call for every access, all of them at hand there"
    )]
    pub fn note(
        &self,
        memory: &Memory<'_>,
        noted: &mut Noted,
        elem: usize,
        piece: Piece,
        at: At,
        touch: Touch,
        program: u64,
    ) {
        if !self.watched.contains(piece.allocation) {
            return;
        }
        let who = Who {
            allocation: piece.allocation as u32,
            tensor: piece.tensor,
            at,
            touch,
            elem: elem as u32,
        };
        let (start, end) = (piece.offset as u64, (piece.offset + piece.count * elem) as u64);
        let len = memory.spans[piece.allocation].1;
        noted.add(who, start, end, program, &self.cells, len);
    }

    /// Notes that a program touched `count` rows of `bytes` bytes, the first at a piece and one each `stride` bytes.
    #[inline]
    #[allow(
        clippy::too_many_arguments,
        reason = "one call for every access, all of them at hand there"
    )]
    pub fn note_rows(
        &self,
        memory: &Memory<'_>,
        noted: &mut Noted,
        elem: usize,
        first: Piece,
        [count, stride]: [usize; 2],
        at: At,
        touch: Touch,
        program: u64,
    ) {
        let who = Who {
            allocation: first.allocation as u32,
            tensor: first.tensor,
            at,
            touch,
            elem: elem as u32,
        };
        let row = [first.offset, first.count * elem, stride].map(|n| n as u64);
        let len = memory.spans[first.allocation].1;
        noted.add_rows(who, row, count, program, &self.cells, len);
    }

    /// Notes that neighbouring programs touched pieces of one size, the first this one and one each `stride` bytes.
    #[inline]
    #[allow(
        clippy::too_many_arguments,
        reason = "one call for every access, all of them at hand there"
    )]
    pub fn note_even(
        &self,
        memory: &Memory<'_>,
        noted: &mut Noted,
        elem: usize,
        first: Piece,
        stride: i64,
        at: At,
        touch: Touch,
        programs: Range<u64>,
    ) {
        let who = Who {
            allocation: first.allocation as u32,
            tensor: first.tensor,
            at,
            touch,
            elem: elem as u32,
        };
        let run = [first.offset, first.count * elem].map(|n| n as u64);
        let len = memory.spans[first.allocation].1;
        noted.add_even(who, run, stride, programs, &self.cells, len);
    }
}
