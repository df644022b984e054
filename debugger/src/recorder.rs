//! Watches the tensors' bytes while programs are stepped: what is touched, and what was there before.
//!
//! The journal holds pages as they were when first written since the last snapshot: to put them back is to undo
//! all writes since then.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tilescope_interpreter::tensor_memory::Observer;
use tilescope_launch::Memory;

/// Bytes of a page of the journal.
const PAGE: usize = 4096;

/// Pages as they were.
#[derive(Debug, Default)]
pub struct Journal {
    pages: HashMap<(u32, u64), Box<[u8]>>,
}

impl Journal {
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.pages.len() * (PAGE + 64)
    }

    /// Puts the pages back.
    pub fn undo(self, memory: &mut Memory) {
        for ((allocation, page), bytes) in self.pages {
            let Some(allocation) = memory.allocations.get_mut(allocation as usize) else {
                continue;
            };
            let start = page as usize * PAGE;
            if let Some(target) = allocation.bytes.get_mut(start..start + bytes.len()) {
                target.copy_from_slice(&bytes);
            }
        }
    }

    /// Takes in the journal of the time after: where both know a page, ours is the older.
    pub fn absorb(&mut self, later: Journal) {
        for (page, bytes) in later.pages {
            self.pages.entry(page).or_insert(bytes);
        }
    }
}

/// Bytes that an instruction accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Index of the allocation.
    pub allocation: usize,
    /// First byte.
    pub offset: usize,
    /// Number of bytes.
    pub bytes: usize,
    /// Written; maybe read too.
    pub write: bool,
    /// Written by an atomic.
    pub atomic: bool,
}

impl Access {
    /// True if it reads or writes some of these bytes of an allocation; `bytes` are rising and disjoint.
    pub fn touches(&self, allocation: usize, bytes: &[Range<u64>]) -> bool {
        let span = self.offset as u64..(self.offset + self.bytes) as u64;
        self.allocation == allocation && overlaps(bytes, span)
    }

    /// True if it writes some of them.
    pub fn writes(&self, allocation: usize, bytes: &[Range<u64>]) -> bool {
        self.write && self.touches(allocation, bytes)
    }
}

/// True if some of these ranges, rising and disjoint, has a number of another one.
pub fn overlaps(ranges: &[Range<u64>], other: Range<u64>) -> bool {
    let next = ranges.partition_point(|range| range.end <= other.start);
    ranges.get(next).is_some_and(|range| range.start < other.end)
}

#[derive(Debug, Default)]
struct Inner {
    journal: Journal,
    accesses: Vec<Access>,
    /// Accesses are noted.
    listens: bool,
    wrote: bool,
    /// Allocations of which the bytes before a write are kept.
    kept: Vec<usize>,
    /// Offset and bytes before, of the writes to them by the last instruction that wrote.
    before: Vec<(usize, usize, Vec<u8>)>,
    /// The next write is of another instruction.
    fresh: bool,
}

/// The observer of a session.
#[derive(Debug, Default)]
pub struct Recorder {
    inner: Mutex<Inner>,
}

impl Recorder {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on accesses are noted, or not.
    pub fn listen(&self, listens: bool) {
        let mut inner = self.lock();
        inner.listens = listens;
        inner.accesses.clear();
    }

    /// Gives the accesses since the last call, and says whether something was written.
    pub fn collect(&self, accesses: &mut Vec<Access>) -> bool {
        let mut inner = self.lock();
        accesses.clear();
        accesses.append(&mut inner.accesses);
        inner.fresh = true;
        std::mem::take(&mut inner.wrote)
    }

    /// From now on the bytes before a write to these allocations are kept.
    pub fn keep(&self, allocations: Vec<usize>) {
        self.lock().kept = allocations;
    }

    /// What bytes held before the last instruction that wrote them, if that is kept.
    pub fn before(&self, allocation: usize, offset: u64, bytes: usize) -> Option<Vec<u8>> {
        let offset = usize::try_from(offset).ok()?;
        let inner = self.lock();
        inner.before.iter().find_map(|(other, start, before)| {
            let from = offset.checked_sub(*start).filter(|_| *other == allocation)?;
            before.get(from..from + bytes).map(<[u8]>::to_vec)
        })
    }

    /// Takes the journal out: a new one begins.
    pub fn take_journal(&self) -> Journal {
        std::mem::take(&mut self.lock().journal)
    }
}

impl Observer for Recorder {
    fn reads(&self, allocation: usize, offset: usize, bytes: usize) {
        let mut inner = self.lock();
        if inner.listens {
            inner.accesses.push(Access {
                allocation,
                offset,
                bytes,
                write: false,
                atomic: false,
            });
        }
    }

    fn writes(
        &self,
        allocation: usize,
        offset: usize,
        bytes: usize,
        atomic: bool,
        before: &dyn Fn(usize, usize) -> Vec<u8>,
    ) {
        let mut inner = self.lock();
        inner.wrote = true;
        if inner.listens {
            inner.accesses.push(Access {
                allocation,
                offset,
                bytes,
                write: true,
                atomic,
            });
        }
        if bytes == 0 {
            return;
        }
        if std::mem::take(&mut inner.fresh) {
            inner.before.clear();
        }
        if inner.kept.contains(&allocation) {
            inner.before.push((allocation, offset, before(offset, bytes)));
        }
        for page in offset / PAGE..=(offset + bytes - 1) / PAGE {
            let key = (allocation as u32, page as u64);
            inner
                .journal
                .pages
                .entry(key)
                .or_insert_with(|| before(page * PAGE, PAGE).into());
        }
    }
}
