//! Memory that will be read soon, fetched while the program computes.
//!
//! A load that goes on by the same distance from one time to the next (the rows of a matrix, the blocks of
//! neighbouring programs) is expected to do so once more. Lines of what is expected are asked for a few at a time
//! between the loops over tiles, so that memory works while the CPU does: more at once would make it wait. A wrong guess
//! costs some instructions; nothing that can be seen depends on it.

use crate::simd;
use crate::tensor_memory::Shared;

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// Ranges that are expected at once.
const ROOM: usize = 4;

/// Least bytes of an access that is worth it.
const LEAST: usize = 1024;

/// Most bytes that are asked for of one range.
const MOST: usize = 64 << 10;

/// Ranges of addresses that are expected to be read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ahead {
    ranges: [(usize, usize); ROOM],
    /// The range that is replaced next.
    oldest: usize,
    /// Something may be left to ask for.
    left: bool,
}

impl Ahead {
    /// Expects a range; the oldest one goes.
    #[inline]
    pub fn push(&mut self, start: usize, bytes: usize) {
        self.ranges[self.oldest % ROOM] = (start, start + bytes.min(MOST));
        self.oldest += 1;
        self.left = true;
    }

    /// True if nothing is left to ask for.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.iter().all(|range| range.0 >= range.1)
    }

    /// Asks for some more lines, of the oldest range first.
    #[inline]
    pub fn pull(&mut self, lines: usize) {
        if self.left {
            self.pull_some(lines);
        }
    }

    fn pull_some(&mut self, mut lines: usize) {
        for i in self.oldest..self.oldest + ROOM {
            let (start, end) = self.ranges[i % ROOM];
            if start >= end {
                continue;
            }
            let count = (end - start).div_ceil(LINE).min(lines);
            for line in 0..count {
                simd::prefetch(start + LINE * line);
            }
            self.ranges[i % ROOM].0 = start + LINE * count;
            lines -= count;
            if lines == 0 {
                return;
            }
        }
        self.left = false;
    }
}

/// Where each load read last.
#[derive(Debug, Clone, Default)]
pub struct Strides(Vec<Option<usize>>);

impl Strides {
    /// Notes that load number `which` reads these bytes: it may go on by the same distance.
    #[inline]
    pub fn expect(
        &mut self,
        which: usize,
        shared: &Shared<'_>,
        (allocation, offset, bytes): (usize, usize, usize),
        ahead: &mut Ahead,
    ) {
        if let Some(next) = self.next(which, offset, bytes)
            && let Some(address) = shared.address(allocation, next)
        {
            ahead.push(address, bytes);
        }
    }

    /// Where load number `which` is expected to read next, now that it reads `bytes` bytes at an offset; none if
    /// that is not to be told, or the same bytes.
    #[inline]
    pub fn next(&mut self, which: usize, offset: usize, bytes: usize) -> Option<usize> {
        if bytes < LEAST {
            return None;
        }
        if self.0.len() <= which {
            self.0.resize(which + 1, None);
        }
        let last = self.0[which].replace(offset)?;
        let step = offset.wrapping_sub(last);
        let is_apart = (step as isize).unsigned_abs() >= bytes;
        is_apart.then(|| offset.wrapping_add(step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_on_goes_on() {
        let mut strides = Strides::default();
        assert_eq!(strides.next(2, 8192, 4096), None);
        assert_eq!(strides.next(2, 12288, 4096), Some(16384));
        assert_eq!(strides.next(0, 0, 4096), None);
        assert_eq!(strides.next(2, 8192, 4096), Some(4096));
        assert_eq!(strides.next(2, 8192, 4096), None);
        assert_eq!(strides.next(2, 9000, 512), None);
    }

    #[test]
    fn ranges_are_asked_for_in_turn_and_forgotten() {
        let mut ahead = Ahead::default();
        assert!(ahead.is_empty());
        let bytes = [0u8; 1024];
        let start = bytes.as_ptr() as usize;
        (0..5).for_each(|_| ahead.push(start, 256));
        ahead.pull(15);
        assert!(!ahead.is_empty());
        ahead.pull(1);
        assert!(ahead.is_empty());
    }
}
