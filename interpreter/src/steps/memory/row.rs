//! Accesses of lanes that are neighbours in memory, as they are in the tile: those of chains that go strip by strip
//! ([`crate::steps::strip`]), judged without tables, one row after the other.

use super::placed::Place;
use crate::access::Piece;
use crate::frame::Slot;
use crate::kind::Kind;
use crate::machine::Machine;
use crate::races::Touch;
use crate::steps::atomic;
use crate::steps::strip::Of;
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

    /// So many rows of all lanes of a tile, one behind the other.
    #[inline(always)]
    pub fn repeated(&self, times: usize) -> Row {
        Row {
            last: self.first + (self.last - self.first) * times,
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

    /// How many bytes it is from a row to that of the next turn, where `scalar` goes up by `by` each time, up to `most`
    /// times, and how often all of those rows are beyond doubt, with the same lanes; none if never.
    pub fn step(
        &self,
        inst: &Inst,
        machine: &Machine<'_>,
        row: &Row,
        (scalar, by, most): (Slot, i64, u64),
    ) -> Option<(i64, u64)> {
        let mut more = i64::try_from(most).ok()?;
        for mask in &self.place.masks {
            let step = mask.value.factor(inst, scalar)?.checked_mul(by)?;
            if step != 0 {
                // Between two turns in which all lanes are active there is none in which one is not.
                let high = mask.value.now(inst, &machine.frame).checked_add(mask.reach)?;
                more = more.min(times(high, step, -1)?);
            }
        }
        let step = self.place.value.factor(inst, scalar)?.checked_mul(by)?;
        let target = machine.context.memory.target(self.place.tensor)?;
        let room = i64::try_from(target.len)
            .ok()?
            .checked_sub(i64::try_from(row.bytes()).ok()?)?;
        let first = i64::try_from(row.offset).ok()?;
        // Down to the first byte is up to nothing.
        let inside = match step {
            0.. => times(first, step, room)?,
            _ => times(first.checked_neg()?, step.checked_neg()?, 0)?,
        };
        more = more.min(inside);
        let fine = more > 0 && step % row.elem as i64 == 0 && row.bytes() > 0;
        fine.then_some((step, more as u64))
    }

    /// Notes that the row is touched, and those of the next turns, one each `step` bytes: `count` in all.
    #[inline(always)]
    pub fn note(&self, inst: &Inst, machine: &mut Machine<'_>, row: &Row, (step, count, of): (i64, u64, Of)) {
        atomic::flush_before_tensor(machine, self.place.tensor);
        machine.wrote |= self.writes;
        let bytes = row.bytes();
        if bytes == 0 {
            return;
        }
        if self.writes
            && let Some(log) = &mut machine.sink.written[row.allocation]
        {
            let (mut start, len) = (row.offset as u64, bytes as u64);
            match step == bytes as i64 {
                true => log.add(start, start + len * count),
                false => {
                    for _ in 0..count {
                        log.add(start, start + len);
                        start = start.wrapping_add_signed(step);
                    }
                }
            }
        }
        let context = machine.context;
        let memory = &context.memory;
        if memory.races.watched.contains(row.allocation) {
            let piece = Piece {
                lane: 0,
                count: row.last - row.first,
                allocation: row.allocation,
                tensor: self.place.tensor,
                offset: row.offset,
            };
            let touch = if self.writes { Touch::Write } else { Touch::Read };
            let noted = &mut machine.sink.noted;
            let (races, program) = (&memory.races, machine.linear);
            let mut note = |piece| races.note(memory, noted, row.elem, piece, inst.at, touch, program);
            match of {
                _ if count == 1 => note(piece),
                Of::Programs => {
                    let programs = program..program + count;
                    races.note_even(memory, noted, row.elem, piece, step, inst.at, touch, programs);
                }
                Of::Loop if step >= bytes as i64 => {
                    let rows = [count as usize, step as usize];
                    races.note_rows(memory, noted, row.elem, piece, rows, inst.at, touch, program);
                }
                Of::Loop => (0..count as i64).for_each(|turn| {
                    note(Piece {
                        offset: row.shifted(step * turn).offset,
                        ..piece
                    });
                }),
            }
        }
    }
}

/// How often a number can go up by a step and stay up to a bound; none if it is beyond.
fn times(first: i64, step: i64, bound: i64) -> Option<i64> {
    let room = bound.checked_sub(first).filter(|&room| room >= 0)?;
    Some(match step {
        1.. => room / step,
        0 => i64::MAX,
        _ => first.saturating_sub(i64::MIN) / step.checked_neg()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_within_a_bound() {
        for (first, step, bound) in [(0, 3, 10), (-5, 1, -1), (4, 2, 4), (5, 1, 4), (0, 10, 9)] {
            let fits = |times: i64| first + step * times <= bound;
            let want = fits(0).then(|| (0..).take_while(|&n| fits(n)).last().unwrap_or(0));
            assert_eq!(times(first, step, bound), want, "{first} {step} {bound}");
        }
        assert_eq!(times(3, 0, 3), Some(i64::MAX));
        assert_eq!(times(3, -1, 2), None);
        assert_eq!(times(i64::MIN + 7, -3, 0), Some(2));
        assert_eq!(times(i64::MIN, 1, i64::MAX), None);
    }
}
