//! Accesses of lanes that are neighbours in memory, as they are in the tile: those of chains that go strip by strip
//! ([`crate::steps::strip`]), judged without tables, one row after the other.

use super::placed::Place;
use crate::access::Piece;
use crate::frame::Slot;
use crate::kind::Kind;
use crate::machine::Machine;
use crate::races::Touch;
use crate::steps::atomic;
use crate::tape::Inst;

/// Active lanes that are neighbours in memory, as they are in the tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Where they lie.
    pub allocation: usize,
    /// Byte of the first one.
    pub offset: usize,
    /// The first one.
    pub first: usize,
    /// One past the last one.
    pub last: usize,
    /// Bytes of each.
    elem: usize,
}

impl Row {
    /// No lanes.
    pub const EMPTY: Row = Row {
        allocation: 0,
        offset: 0,
        first: 0,
        last: 0,
        elem: 1,
    };

    /// Bytes from the first to the last.
    #[inline(always)]
    pub fn bytes(&self) -> usize {
        (self.last - self.first) * self.elem
    }

    /// The same lanes so many bytes further on.
    #[inline(always)]
    pub fn shifted(&self, bytes: i64) -> Row {
        Row {
            offset: self.offset.wrapping_add_signed(bytes as isize),
            ..*self
        }
    }

    /// As [`super::placed::Reach::is_apart`].
    #[inline]
    pub fn is_apart(&self, other: &Row) -> bool {
        let behind = |a: &Row, b: &Row| a.offset + a.bytes() <= b.offset;
        self.allocation != other.allocation || behind(self, other) || behind(other, self) || self == other
    }
}

/// A load or store that goes strip by strip.
#[derive(Debug, Clone)]
pub struct Placed {
    /// Where.
    pub place: Place,
    /// Kind of the elements.
    pub kind: Kind,
    /// It stores.
    pub writes: bool,
    /// The first operand is what lanes are that are not active; else they are zero.
    pub other: bool,
    /// Lanes that are not active have a value, or never matter.
    pub quiet: bool,
}

impl Placed {
    /// The active lanes, if all of them are beyond doubt, and neighbours in memory as in the tile.
    #[inline]
    pub fn row(&self, inst: &Inst, machine: &Machine<'_>) -> Option<Row> {
        let (place, elem) = (&self.place, self.kind.bytes());
        let found = place.rectangle(inst, machine, elem, self.writes)?;
        let (rows, columns) = (&found.rows, &found.columns);
        let width = place.columns;
        let lanes = match found.is_empty() {
            true => 0..0,
            false if place.rows == 1 => columns.clone(),
            false if !place.turned && columns.len() == width && place.stride == width * elem => {
                rows.start * width..rows.end * width
            }
            false => return None,
        };
        let whole = self.writes || self.quiet || lanes.len() == place.rows * width;
        whole.then_some(Row {
            allocation: found.allocation,
            offset: found.offset,
            first: lanes.start,
            last: lanes.end,
            elem,
        })
    }

    /// How many bytes it is from a row to that of the next program, where `scalar` has the program's number and goes up by
    /// one `more` times; none unless all of those rows are beyond doubt, with the same lanes.
    pub fn step(
        &self,
        inst: &Inst,
        machine: &Machine<'_>,
        row: &Row,
        scalar: Slot,
        more: u64,
    ) -> Option<i64> {
        let more = i64::try_from(more).ok()?;
        for mask in &self.place.masks {
            let step = mask.value.factor(inst, scalar);
            if step != 0 {
                // Between two numbers of programs at which all lanes are active there is none at which one is not.
                let value = mask.value.now(inst, &machine.frame);
                let last = value.checked_add(step.checked_mul(more)?)?;
                value.max(last).checked_add(mask.reach).filter(|&high| high < 0)?;
            }
        }
        let step = self.place.value.factor(inst, scalar);
        let target = machine.context.memory.target(self.place.tensor)?;
        let first = i64::try_from(row.offset).ok()?;
        let last = first.checked_add(step.checked_mul(more)?)?;
        let room = i64::try_from(target.len)
            .ok()?
            .checked_sub(i64::try_from(row.bytes()).ok()?)?;
        let fine = (0..=room).contains(&last) && step % row.elem as i64 == 0 && row.bytes() > 0;
        fine.then_some(step)
    }

    /// What is to be known of the access before its lanes are done.
    #[inline]
    pub fn begin(&self, inst: &Inst, machine: &mut Machine<'_>, row: &Row) {
        atomic::flush_before_tensor(machine, self.place.tensor);
        let bytes = row.bytes();
        if self.writes {
            machine.wrote = true;
            if let Some(log) = &mut machine.sink.written[row.allocation]
                && bytes > 0
            {
                log.add(row.offset as u64, (row.offset + bytes) as u64);
            }
        } else {
            machine.expect(inst.at, row.allocation, row.offset, bytes);
        }
        let context = machine.context;
        let memory = &context.memory;
        if bytes > 0 && memory.races.watched.contains(row.allocation) {
            let piece = Piece {
                lane: 0,
                count: row.last - row.first,
                allocation: row.allocation,
                tensor: self.place.tensor,
                offset: row.offset,
            };
            let touch = if self.writes { Touch::Write } else { Touch::Read };
            let noted = &mut machine.sink.noted;
            memory
                .races
                .note(memory, noted, row.elem, piece, inst.at, touch, machine.linear);
        }
    }
}
