//! What a worker has found, kept small: one entry per check, place and tensor.
//!
//! Of each entry the occurrence in the lowest program is kept in full, with a count over all. Workers'
//! sinks merge into the same result in any order, so reports do not depend on threads.

use crate::access::Memory;
use crate::frame::Tensor;
use crate::hunt::Suspects;
use crate::races::Noted;
use crate::taint::Use;
use crate::tape::At;
use crate::written::Written;
use std::collections::BTreeMap;
use tilescope_diagnostics::{Check, CheckSet};
pub use tilescope_launch::fault::AccessKind;

/// Identity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Which check.
    pub check: Check,
    /// Which instruction.
    pub at: At,
    /// Which tensor, plus one; 0 for none.
    pub tensor: Tensor,
}

/// What is known of an occurrence, by kind of check. Lanes are row-major numbers in the tile.
#[derive(Debug, Clone, PartialEq)]
pub enum Detail {
    /// An access of `bytes` bytes at `address`.
    Access {
        /// Load, store or atomic.
        kind: AccessKind,
        /// First faulty lane.
        lane: u32,
        /// Its address.
        address: u64,
        /// Its size.
        bytes: u32,
    },
    /// An integer division without a result, used at another place.
    Division {
        /// First faulty lane.
        lane: u32,
        /// Dividend, as a signed number.
        dividend: i64,
        /// Divisor, as a signed number.
        divisor: i64,
        /// Where the result was used.
        used: At,
    },
    /// A shift by a negative amount or by the width or more, used at another place.
    Shift {
        /// First faulty lane.
        lane: u32,
        /// What is shifted, as a signed number.
        value: i64,
        /// By how much, as a signed number.
        amount: i64,
        /// Bits of the type.
        width: u32,
        /// Where the result was used.
        used: At,
    },
    /// A float without a value in the integer type it is converted to, used at another place.
    Conversion {
        /// First faulty lane.
        lane: u32,
        /// The float.
        value: f64,
        /// Where the result was used.
        used: At,
    },
    /// A lane that a load left undefined, used here.
    Undefined {
        /// First lane that uses it.
        lane: u32,
        /// The load.
        born: At,
        /// What it is used for.
        how: Use,
        /// Address and size of an element that nothing wrote; none for a masked-off lane.
        from: Option<(u64, u32)>,
    },
    /// An address that wrapped around.
    Overflow {
        /// First lane.
        lane: u32,
        /// Load, store or atomic.
        kind: AccessKind,
        /// Its address.
        address: u64,
        /// How much greater the exact address is.
        delta: i128,
        /// Size of the element.
        bytes: u32,
        /// The operation that wrapped around.
        born: At,
    },
    /// Two lanes of one store at one address.
    Duplicate {
        /// The first lane that is overwritten.
        lane: u32,
        /// The last lane that overwrites it.
        by: u32,
        /// The address.
        address: u64,
        /// Bits of the values of both.
        values: (u64, u64),
    },
    /// A false lane of an assert or assume.
    Condition {
        /// First false lane.
        lane: u32,
    },
    /// An untrue hint.
    Hint {
        /// What was promised, in words.
        promise: String,
        /// First lane that breaks it.
        lane: u32,
        /// The value there.
        value: i64,
    },
    /// A NaN or infinity that was made here, and stored at another place.
    Special {
        /// First lane.
        lane: u32,
        /// What was made.
        value: f64,
        /// Operands of that lane.
        operands: [f64; 3],
        /// So many of them.
        count: u8,
        /// Where it was stored.
        used: At,
    },
    /// A load of what other lanes of the same program stored.
    Reread {
        /// First lane.
        lane: u32,
        /// The lane that stored it.
        by: u32,
        /// The address.
        address: u64,
        /// Size of the element.
        bytes: u32,
        /// The store.
        stored: At,
    },
    /// A descriptor that hardware does not take.
    Misfit {
        /// 0 for its base, then its strides.
        part: u32,
        /// The address or stride.
        bytes: i64,
        /// The GPU.
        target: &'static str,
    },
    /// No program can go on; how many wait.
    Deadlock(u64),
    /// Too many operations; how many are allowed.
    Steps(u64),
}

/// One finding in the making.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Linear number of the first program.
    pub linear: u64,
    /// Lanes concerned, over all programs.
    pub count: u64,
    /// Lanes concerned in the first program.
    pub first_count: u64,
    /// True when `count` is a lower bound.
    pub at_least: bool,
    /// The lowest program with an occurrence that is worse than the check's mildest.
    pub severe: Option<u64>,
    /// The first occurrence.
    pub detail: Detail,
}

/// A text printed by a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Print {
    /// Linear program number.
    pub linear: u64,
    /// Which instruction.
    pub at: At,
    /// The text.
    pub text: String,
}

/// What one worker has found.
#[derive(Debug, Clone, Default)]
pub struct Sink {
    /// Findings by identity.
    pub entries: BTreeMap<Key, Entry>,
    /// Prints in the order they came.
    pub prints: Vec<Print>,
    /// Per allocation, what was written; none where nobody asks.
    pub written: Vec<Option<Written>>,
    /// Which programs stored a NaN or an infinity.
    pub suspects: Suspects,
    /// Which programs touched what, to find races.
    pub noted: Noted,
    checks: CheckSet,
    linear: u64,
}

impl Sink {
    /// An empty sink for a launch.
    pub fn new(memory: &Memory<'_>) -> Sink {
        let written = memory
            .watched()
            .zip(&memory.spans)
            .map(|(watched, &(_, len))| watched.then(|| Written::new(len)))
            .collect();
        Sink {
            written,
            checks: memory.checks,
            ..Sink::default()
        }
    }

    /// From now on, occurrences are of this program.
    pub fn begin(&mut self, linear: u64) {
        self.linear = linear;
    }

    /// Notes `count` lanes, if the check is on; `detail` describes the first of them.
    pub fn report(&mut self, key: Key, count: u64, detail: impl FnOnce() -> Detail) {
        if !self.checks.contains(key.check) {
            return;
        }
        let linear = self.linear;
        match self.entries.entry(key) {
            std::collections::btree_map::Entry::Vacant(slot) => {
                slot.insert(Entry {
                    linear,
                    count,
                    first_count: count,
                    at_least: false,
                    severe: None,
                    detail: detail(),
                });
            }
            std::collections::btree_map::Entry::Occupied(mut slot) => {
                let entry = slot.get_mut();
                entry.count += count;
                if linear == entry.linear {
                    entry.first_count += count;
                } else if linear < entry.linear {
                    entry.linear = linear;
                    entry.first_count = count;
                    entry.detail = detail();
                }
            }
        }
    }

    /// Notes that the occurrence just reported is worse than the check's mildest.
    pub fn worsen(&mut self, key: Key) {
        let linear = self.linear;
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.severe = Some(entry.severe.map_or(linear, |before| before.min(linear)));
        }
    }

    /// True if a program up to this one has such an occurrence.
    pub fn is_severe(&self, key: Key) -> bool {
        let severe = self.entries.get(&key).and_then(|entry| entry.severe);
        severe.is_some_and(|before| before <= self.linear)
    }

    /// Drops what was found in programs after `last`, which may or may not have run.
    pub fn cut(&mut self, last: u64) {
        self.entries.retain(|_, entry| entry.linear <= last);
        for (key, entry) in &mut self.entries {
            // How much later programs added depends on how far they came.
            entry.count = entry.first_count;
            entry.at_least = key.check != Check::StepLimit;
            entry.severe = entry.severe.filter(|&program| program <= last);
        }
        self.suspects.cut(last);
        self.prints.retain(|print| print.linear <= last);
    }

    /// Notes a printed text.
    pub fn print(&mut self, at: At, text: String) {
        self.prints.push(Print {
            linear: self.linear,
            at,
            text,
        });
    }

    /// Adds all of another worker's.
    pub fn merge(&mut self, other: Sink) {
        for (key, theirs) in other.entries {
            match self.entries.entry(key) {
                std::collections::btree_map::Entry::Vacant(slot) => {
                    slot.insert(theirs);
                }
                std::collections::btree_map::Entry::Occupied(mut slot) => {
                    let ours = slot.get_mut();
                    let count = ours.count + theirs.count;
                    let severe = ours.severe.into_iter().chain(theirs.severe).min();
                    if theirs.linear < ours.linear {
                        *ours = theirs;
                    }
                    ours.count = count;
                    ours.severe = severe;
                }
            }
        }
        self.prints.extend(other.prints);
        self.noted.merge(other.noted);
        self.suspects.merge(other.suspects);
        for (ours, theirs) in self.written.iter_mut().zip(other.written) {
            if let (Some(ours), Some(theirs)) = (ours, theirs) {
                ours.merge(&theirs);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_keeps_the_lowest_program_and_all_lanes() {
        let key = Key {
            check: Check::OobLoad,
            at: At(3),
            tensor: 1,
        };
        let detail = |lane| Detail::Condition { lane };
        let (mut a, mut b) = (Sink::default(), Sink::default());
        a.begin(9);
        a.report(key, 2, || detail(1));
        b.begin(4);
        b.report(key, 5, || detail(2));
        b.begin(6);
        b.report(key, 3, || detail(0));
        b.worsen(key);
        a.merge(b);
        let entry = &a.entries[&key];
        assert_eq!((entry.linear, entry.count, &entry.detail), (4, 10, &detail(2)));
        assert_eq!(entry.severe, Some(6));
        // Only what is known of program 4 is left.
        a.cut(5);
        let entry = &a.entries[&key];
        assert_eq!((entry.count, entry.at_least, entry.severe), (5, true, None));
        a.cut(3);
        assert!(a.entries.is_empty());
    }
}
