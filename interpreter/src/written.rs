//! Which bytes of an allocation were written.
//!
//! A log of ranges, sorted and merged now and then: as long as the written memory has holes. Where writes
//! are scattered, so that merging leaves many ranges, it becomes a bit per byte; adding is cheap in both. Tiles
//! of a matrix stay rectangles until somebody asks: neighbours mostly make up whole rows by then.

/// Ranges that a merged log may have before bits take its place.
const MANY: usize = 4096;

/// Largest allocation that bits are kept for: 32 MiB of them.
const MAX_BITS: u64 = 1 << 28;

/// What was written of one allocation.
#[derive(Debug, Clone)]
pub struct Written {
    /// Bytes of the allocation.
    len: u64,
    ranges: Vec<(u64, u64)>,
    /// Ranges that are sorted and disjoint, at the front.
    tidy: usize,
    /// A bit per byte; empty while ranges do.
    bits: Vec<u64>,
    /// What is in neither yet.
    rectangles: Vec<Rows>,
}

/// `count` rows of `len` bytes, one each `stride` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rows {
    start: u64,
    len: u64,
    stride: u64,
    count: u64,
}

impl Rows {
    /// Those of one matrix that begin in the same row are neighbours in this order.
    fn key(&self) -> (u64, u64, u64, u64) {
        (
            self.stride,
            self.count,
            self.start / self.stride.max(1),
            self.start,
        )
    }

    /// Adds the columns of another rectangle if they follow.
    fn extend(&mut self, other: &Rows) -> bool {
        let follows = self.key().0 == other.key().0
            && self.key().1 == other.key().1
            && self.key().2 == other.key().2
            && (self.start..=self.start + self.len).contains(&other.start);
        if follows {
            self.len = self.len.max(other.start + other.len - self.start);
        }
        follows
    }
}

impl Written {
    /// Nothing, of an allocation of `len` bytes.
    pub fn new(len: u64) -> Written {
        Written {
            len,
            ranges: Vec::new(),
            tidy: 0,
            bits: Vec::new(),
            rectangles: Vec::new(),
        }
    }

    /// Adds `count` rows of `len` bytes, the first from `start` on and one each `stride` bytes.
    #[inline]
    pub fn add_rows(&mut self, start: u64, len: u64, stride: u64, count: u64) {
        if count == 1 || stride == len {
            self.add(start, start + len * count);
            return;
        }
        self.rectangles.push(Rows {
            start,
            len,
            stride,
            count,
        });
        if self.rectangles.len() > MANY {
            self.spell_out();
        }
    }

    /// Adds the rows of all rectangles.
    fn spell_out(&mut self) {
        let mut rectangles = std::mem::take(&mut self.rectangles);
        rectangles.sort_unstable_by_key(Rows::key);
        let mut joined: Vec<Rows> = Vec::new();
        for rows in &rectangles {
            if !joined.last_mut().is_some_and(|last| last.extend(rows)) {
                joined.push(*rows);
            }
        }
        for rows in joined {
            if rows.len >= rows.stride && rows.count > 0 {
                self.add(rows.start, rows.start + (rows.count - 1) * rows.stride + rows.len);
                continue;
            }
            for i in 0..rows.count {
                let start = rows.start + i * rows.stride;
                self.add(start, start + rows.len);
            }
        }
    }

    /// Adds the bytes `start..end`.
    #[inline]
    pub fn add(&mut self, start: u64, end: u64) {
        if !self.bits.is_empty() {
            self.set(start, end);
            return;
        }
        if let Some(last) = self.ranges[self.tidy..].last_mut()
            && last.1 == start
        {
            last.1 = end;
            return;
        }
        if self.is_known(start, end) {
            return;
        }
        self.ranges.push((start, end));
        if self.ranges.len() > MANY && self.ranges.len() > 2 * self.tidy {
            self.tidy_up();
            if self.tidy > MANY && self.len <= MAX_BITS {
                self.scatter();
            }
        }
    }

    /// True if the tidy ranges have all of it: atomics write the same bytes over and over.
    #[inline]
    fn is_known(&self, start: u64, end: u64) -> bool {
        let tidy = &self.ranges[..self.tidy];
        let next = tidy.partition_point(|range| range.1 < end);
        tidy.get(next).is_some_and(|range| range.0 <= start)
    }

    /// True if all of the bytes `start..end` were written.
    pub fn covers(&mut self, start: u64, end: u64) -> bool {
        self.spell_out();
        if !self.bits.is_empty() {
            return self.is_set(start, end);
        }
        if self.is_known(start, end) {
            return true;
        }
        if self.tidy < self.ranges.len() {
            self.tidy_up();
        }
        self.is_known(start, end)
    }

    /// True if all of the bytes `start..end` were written, of a log whose ranges were asked for since it grew.
    pub fn has(&self, start: u64, end: u64) -> bool {
        match self.bits.is_empty() {
            true => self.is_known(start, end),
            false => self.is_set(start, end),
        }
    }

    /// True if each byte was written here or in another log, of which [`has`](Written::has) can be asked.
    pub fn covers_with(&mut self, other: &Written, start: u64, end: u64) -> bool {
        (start..end).all(|byte| other.has(byte, byte + 1) || self.covers(byte, byte + 1))
    }

    /// Bytes of the allocation.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True for an allocation without bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn is_set(&self, mut start: u64, end: u64) -> bool {
        while start < end {
            let stop = end.min((start | 63) + 1);
            let ones = (u64::MAX >> (64 - (stop - start))) << (start % 64);
            let word = self.bits.get((start / 64) as usize).copied().unwrap_or(0);
            if word & ones != ones {
                return false;
            }
            start = stop;
        }
        true
    }

    /// Adds all of another log of the same allocation.
    pub fn merge(&mut self, other: &Written) {
        self.rectangles.extend(&other.rectangles);
        if self.bits.is_empty() && !other.bits.is_empty() {
            self.scatter();
        }
        if self.bits.is_empty() {
            self.ranges.extend(&other.ranges);
            self.tidy_up();
            return;
        }
        for (ours, theirs) in self.bits.iter_mut().zip(&other.bits) {
            *ours |= theirs;
        }
        for &(start, end) in &other.ranges {
            self.set(start, end);
        }
    }

    /// The written ranges, sorted and disjoint.
    pub fn ranges(&mut self) -> &[(u64, u64)] {
        self.spell_out();
        if self.bits.is_empty() {
            self.tidy_up();
        } else {
            self.ranges = ranges_of(&self.bits);
            self.tidy = self.ranges.len();
            self.bits = Vec::new();
        }
        &self.ranges
    }

    fn tidy_up(&mut self) {
        self.ranges.sort_unstable();
        let mut kept: Vec<(u64, u64)> = Vec::with_capacity(self.ranges.len().min(MANY));
        for &(start, end) in &self.ranges {
            match kept.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => kept.push((start, end)),
            }
        }
        self.tidy = kept.len();
        self.ranges = kept;
    }

    /// From ranges to bits.
    fn scatter(&mut self) {
        self.bits = vec![0; self.len.div_ceil(64) as usize];
        for (start, end) in std::mem::take(&mut self.ranges) {
            self.set(start, end);
        }
        self.tidy = 0;
    }

    #[inline]
    fn set(&mut self, mut start: u64, end: u64) {
        let end = end.min(self.len);
        while start < end {
            let stop = end.min((start | 63) + 1);
            let ones = u64::MAX >> (64 - (stop - start));
            if let Some(word) = self.bits.get_mut((start / 64) as usize) {
                *word |= ones << (start % 64);
            }
            start = stop;
        }
    }
}

fn ranges_of(bits: &[u64]) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for (i, &word) in bits.iter().enumerate() {
        let (mut at, mut rest) = (64 * i as u64, word);
        while rest != 0 {
            let zeros = rest.trailing_zeros();
            let ones = (rest >> zeros).trailing_ones();
            let (start, end) = (at + u64::from(zeros), at + u64::from(zeros + ones));
            match ranges.last_mut() {
                Some(last) if last.1 == start => last.1 = end,
                _ => ranges.push((start, end)),
            }
            at = end;
            rest = (rest >> zeros).checked_shr(ones).unwrap_or(0);
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_merge() {
        let mut w = Written::new(100);
        for (a, b) in [(0, 4), (4, 8), (16, 20), (8, 12), (18, 30)] {
            w.add(a, b);
        }
        assert_eq!(w.ranges(), [(0, 12), (16, 30)]);
        w.add(30, 31);
        w.add(12, 16);
        assert_eq!(w.ranges(), [(0, 31)]);
    }

    #[test]
    fn rectangles_are_their_rows() {
        let tiles = [(0, 0, 4), (4, 0, 4), (0, 4, 4), (4, 4, 4), (9, 2, 3), (8, 7, 1)];
        for used in 1..1u32 << tiles.len() {
            let mut by_rows = Written::new(120);
            let mut parts = [Written::new(120), Written::new(120)];
            for (i, &(row, column, side)) in tiles.iter().enumerate().filter(|(i, _)| used >> i & 1 != 0) {
                let start = row * 8 + column;
                parts[i % 2].add_rows(start, side, 8, side);
                (0..side).for_each(|i| by_rows.add(start + i * 8, start + i * 8 + side));
            }
            let [mut all, other] = parts;
            all.merge(&other);
            assert_eq!(all.ranges(), by_rows.ranges(), "{used:b}");
        }
        let mut whole = Written::new(64);
        whole.add_rows(0, 4, 8, 8);
        whole.add_rows(4, 4, 8, 8);
        assert!(whole.covers(0, 64) && whole.ranges.len() == 1);
    }

    /// Logs elements of 4 bytes, and says by hand what was written.
    fn scattered(count: u64, step: u64, len: u64) -> (Written, Vec<(u64, u64)>) {
        let mut log = Written::new(len);
        let mut bytes = vec![false; len as usize];
        for i in 0..count {
            let start = i * step % (len / 4) * 4;
            log.add(start, start + 4);
            bytes[start as usize..start as usize + 4].fill(true);
        }
        let mut want: Vec<(u64, u64)> = Vec::new();
        for byte in (0..len).filter(|&b| bytes[b as usize]) {
            match want.last_mut() {
                Some(last) if last.1 == byte => last.1 = byte + 1,
                _ => want.push((byte, byte + 1)),
            }
        }
        (log, want)
    }

    #[test]
    fn scattered_writes_are_the_same_in_bits() {
        for (count, step) in [(100, 7), (50_000, 1), (20_000, 3), (20_000, 7919)] {
            let (mut log, want) = scattered(count, step, 400_000);
            let bits = !log.bits.is_empty();
            assert_eq!(bits, count == 20_000, "{count} {step}");
            assert_eq!(log.ranges(), want, "{count} {step}");
            for byte in [0, 3, 4, 8, 399_996, 200_000] {
                let written = want.iter().any(|r| r.0 <= byte && byte + 4 <= r.1);
                assert_eq!(log.covers(byte, byte + 4), written, "{count} {step} {byte}");
            }
            // It goes on as ranges.
            log.add(399_999, 400_000);
            assert_eq!(log.ranges().last().map(|r| r.1), Some(400_000));
        }
    }

    #[test]
    fn merging_is_the_same_whatever_form_either_has() {
        let parts =
            [(20_000, 3), (100, 7), (20_000, 7919), (300, 11)].map(|(c, s)| scattered(c, s, 400_000).0);
        let mut all = Written::new(400_000);
        let mut want = Written::new(400_000);
        for part in &parts {
            all.merge(part);
            for &(start, end) in part.clone().ranges() {
                want.ranges.push((start, end));
            }
        }
        let mut reversed = Written::new(400_000);
        parts.iter().rev().for_each(|part| reversed.merge(part));
        assert_eq!(all.ranges(), want.ranges());
        assert_eq!(reversed.ranges(), want.ranges());
    }
}
