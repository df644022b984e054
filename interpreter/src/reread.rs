//! What a program stored since its last barrier, and through which lanes.
//!
//! Kept only for kernels that may load what they stored ([`crate::analysis::rereads`]): where a load meets bytes that
//! other lanes stored, nothing orders the two on a GPU, whose lanes are different threads
//! ([`crate::checks::missing_barrier`]).

use crate::tape::At;
use std::collections::BTreeMap;

/// Runs that are kept at most; a program that leaves more is not followed further, until its next barrier.
const MOST: usize = 1 << 18;

/// The dimensions of a tile that are larger than one, by number: tiles of equal shapes have equal numbers.
pub type ShapeId = u32;

/// Neighbouring bytes, and the lanes of an access that they belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lanes {
    /// Where lane `first` begins; bytes before it belong to lanes before it.
    pub origin: u64,
    /// That lane.
    pub first: u32,
    /// Bytes of an element.
    pub elem: u32,
    /// Shape of the tile.
    pub shape: ShapeId,
}

impl Lanes {
    /// The lane of a byte.
    pub fn lane(&self, byte: u64) -> u32 {
        let elem = i64::from(self.elem.max(1));
        let away = (byte.wrapping_sub(self.origin) as i64).div_euclid(elem);
        (i64::from(self.first) + away) as u32
    }

    /// True if both give every byte the same lane.
    fn agree(&self, other: &Lanes) -> bool {
        let start =
            |lanes: &Lanes| i128::from(lanes.origin) - i128::from(lanes.first) * i128::from(lanes.elem);
        self.shape == other.shape && self.elem == other.elem && start(self) == start(other)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stored {
    end: u64,
    lanes: Lanes,
    at: At,
}

/// Bytes that a load shares with an earlier store, through other lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clash {
    /// First byte, in the allocation.
    pub start: u64,
    /// One past the last.
    pub end: u64,
    /// The lane that stored the first byte.
    pub by: u32,
    /// The store.
    pub at: At,
}

/// The stores of a program since its last barrier.
#[derive(Debug, Clone, Default)]
pub struct Reread {
    /// By allocation and first byte; they do not overlap.
    stores: BTreeMap<(u32, u64), Stored>,
    /// From the lowest byte to the highest, per allocation.
    hulls: Vec<(u32, u64, u64)>,
}

impl Reread {
    /// A barrier, or another program: nothing is in doubt.
    #[inline]
    pub fn clear(&mut self) {
        if !self.hulls.is_empty() {
            self.stores.clear();
            self.hulls.clear();
        }
    }

    /// Notes that lanes stored the bytes `start..end`.
    pub fn store(&mut self, allocation: u32, start: u64, end: u64, lanes: Lanes, at: At) {
        if start >= end || self.stores.len() >= MOST {
            return;
        }
        match self.hulls.iter_mut().find(|hull| hull.0 == allocation) {
            Some(hull) if end <= hull.1 || hull.2 <= start => {
                (hull.1, hull.2) = (hull.1.min(start), hull.2.max(end));
            }
            Some(hull) => {
                (hull.1, hull.2) = (hull.1.min(start), hull.2.max(end));
                self.cut(allocation, start, end);
            }
            None => self.hulls.push((allocation, start, end)),
        }
        self.stores.insert((allocation, start), Stored { end, lanes, at });
    }

    /// Takes `start..end` out of what is known.
    fn cut(&mut self, allocation: u32, start: u64, end: u64) {
        let before = self.stores.range(..(allocation, start)).next_back();
        if let Some((&(of, first), &stored)) = before
            && of == allocation
            && stored.end > start
        {
            self.stores.insert((of, first), Stored { end: start, ..stored });
            if stored.end > end {
                self.stores.insert((of, end), stored);
            }
        }
        loop {
            let next = self.stores.range((allocation, start)..(allocation, end)).next();
            let Some((&place, &stored)) = next else { return };
            self.stores.remove(&place);
            if stored.end > end {
                self.stores.insert((allocation, end), stored);
            }
        }
    }

    /// Tells what of the bytes `start..end`, that lanes load, other lanes stored.
    pub fn load(&self, allocation: u32, start: u64, end: u64, lanes: Lanes, mut each: impl FnMut(Clash)) {
        let meets = |hull: &&(u32, u64, u64)| hull.0 == allocation && start < hull.2 && hull.1 < end;
        if !self.hulls.iter().any(|hull| meets(&hull)) {
            return;
        }
        let before = self.stores.range(..(allocation, start)).next_back();
        let before = before.filter(|(place, stored)| place.0 == allocation && stored.end > start);
        for (&(_, first), stored) in before
            .into_iter()
            .chain(self.stores.range((allocation, start)..(allocation, end)))
        {
            if !stored.lanes.agree(&lanes) {
                let start = first.max(start);
                each(Clash {
                    start,
                    end: stored.end.min(end),
                    by: stored.lanes.lane(start),
                    at: stored.at,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(origin: u64, first: u32, shape: ShapeId) -> Lanes {
        Lanes {
            origin,
            first,
            elem: 4,
            shape,
        }
    }

    fn clashes(reread: &Reread, start: u64, end: u64, with: Lanes) -> Vec<(u64, u64, u32)> {
        let mut found = Vec::new();
        reread.load(0, start, end, with, |clash| {
            found.push((clash.start, clash.end, clash.by))
        });
        found
    }

    #[test]
    fn the_same_lanes_are_in_order() {
        let mut reread = Reread::default();
        reread.store(0, 0, 64, lanes(0, 0, 1), At(1));
        assert_eq!(clashes(&reread, 0, 64, lanes(0, 0, 1)), []);
        assert_eq!(clashes(&reread, 16, 32, lanes(16, 4, 1)), []);
        assert_eq!(clashes(&reread, 16, 32, lanes(16, 0, 1)), [(16, 32, 4)]);
        assert_eq!(clashes(&reread, 60, 80, lanes(60, 15, 2)), [(60, 64, 15)]);
        assert_eq!(clashes(&reread, 64, 80, lanes(64, 0, 2)), []);
        reread.clear();
        assert_eq!(clashes(&reread, 0, 64, lanes(0, 9, 1)), []);
    }

    #[test]
    fn the_last_store_counts() {
        let mut reread = Reread::default();
        reread.store(0, 0, 64, lanes(0, 0, 1), At(1));
        reread.store(0, 16, 32, lanes(16, 0, 1), At(2));
        reread.store(1, 0, 64, lanes(0, 7, 1), At(2));
        assert_eq!(clashes(&reread, 0, 64, lanes(0, 0, 1)), [(16, 32, 0)]);
        assert_eq!(clashes(&reread, 0, 20, lanes(16, 0, 1)), [(0, 16, 0)]);
        reread.store(0, 12, 48, lanes(12, 3, 1), At(3));
        assert_eq!(clashes(&reread, 0, 64, lanes(0, 0, 1)), []);
        assert_eq!(reread.stores.len(), 4);
    }
}
