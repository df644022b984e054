//! Which bytes of an allocation were written.
//!
//! A log of ranges, sorted and merged now and then: as long as the written memory has holes. Where writes
//! are scattered, so that merging leaves many ranges, it becomes a bit per byte; adding is cheap in both. Tiles
//! of a matrix, and ranges of one length that follow each other at one distance (the rows that a program takes in
//! turn), stay rectangles until somebody asks: neighbours mostly make up whole rows by then.

/// Ranges that a merged log may have before bits take its place.
const MANY: usize = 4096;

/// Least ranges in step that are worth a rectangle.
const FEW: u64 = 3;

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
    /// The ranges that came last, if they are in step; none of them is elsewhere.
    last: Rows,
}

/// `count` rows of `len` bytes, one each `stride` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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

    /// Adds a range behind the last one if it goes on in step: of one row, the second one says how far it is.
    #[inline]
    fn go_on(&mut self, start: u64, end: u64) -> bool {
        if end - start != self.len {
            // Of one row, more columns.
            let follows = self.count == 1 && start == self.start + self.len;
            if follows {
                self.len = end - self.start;
            }
            return follows;
        }
        let step = start.wrapping_sub(self.start);
        match self.count {
            1 if step == 0 => {}
            1 if step == self.len => self.len = end - self.start,
            1 if step > self.len && start > self.start => (self.stride, self.count) = (step, 2),
            2.. if step == self.stride * self.count => self.count += 1,
            _ => return false,
        }
        true
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
            last: Rows::default(),
        }
    }

    /// Adds `count` rows of `len` bytes, the first from `start` on and one each `stride` bytes.
    #[inline]
    pub fn add_rows(&mut self, start: u64, len: u64, stride: u64, count: u64) {
        if count == 1 || stride == len {
            self.add(start, start + len * count);
            return;
        }
        self.push(Rows {
            start,
            len,
            stride,
            count,
        });
    }

    fn push(&mut self, rows: Rows) {
        self.rectangles.push(rows);
        if self.rectangles.len() > MANY {
            self.spell_out_rectangles();
        }
    }

    /// Adds the rows of all rectangles, and those that came last.
    fn spell_out(&mut self) {
        self.settle();
        self.spell_out_rectangles();
    }

    fn spell_out_rectangles(&mut self) {
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
                self.add_range(rows.start, rows.start + (rows.count - 1) * rows.stride + rows.len);
                continue;
            }
            self.add_each(&rows);
        }
    }

    fn add_each(&mut self, rows: &Rows) {
        for i in 0..rows.count {
            let start = rows.start + i * rows.stride;
            self.add_range(start, start + rows.len);
        }
    }

    /// Adds the bytes `start..end`.
    #[inline]
    pub fn add(&mut self, start: u64, end: u64) {
        if self.last.go_on(start, end) {
            return;
        }
        self.settle();
        self.last = Rows {
            start,
            len: end - start,
            stride: 0,
            count: 1,
        };
    }

    /// Puts what came last where it belongs.
    fn settle(&mut self) {
        let last = std::mem::take(&mut self.last);
        match last.count > FEW && self.bits.is_empty() {
            true => self.push(last),
            false => self.add_each(&last),
        }
    }

    fn add_range(&mut self, start: u64, end: u64) {
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
        self.settle();
        self.rectangles.extend(&other.rectangles);
        self.rectangles
            .extend(Some(other.last).filter(|last| last.count > 0));
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
        self.ranges.dedup_by(|next, last| {
            let joins = next.0 <= last.1;
            if joins {
                last.1 = last.1.max(next.1);
            }
            joins
        });
        self.tidy = self.ranges.len();
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

    #[test]
    fn rows_that_programs_take_in_turn_are_few_rectangles() {
        // Programs 0..7 take the rows 7i + p of 40 rows of 10 bytes, of which `wide` are written, on two workers.
        for wide in 1..=10 {
            let mut parts = [Written::new(400), Written::new(400)];
            let mut want = Written::new(400);
            for program in 0..7u64 {
                for row in (program..40).step_by(7) {
                    parts[(program % 2) as usize].add(row * 10, row * 10 + wide);
                    want.ranges.push((row * 10, row * 10 + wide));
                }
            }
            let [mut all, other] = parts;
            assert!(all.ranges.is_empty() && all.rectangles.len() == 3, "{wide}");
            all.merge(&other);
            assert_eq!(all.ranges(), want.ranges(), "{wide}");
            assert_eq!(all.covers(395, 400), wide == 10);
            all.add(395, 400);
            assert!(all.covers(396, 400) && all.has(396, 400));
        }
    }

    #[test]
    fn any_order_of_ranges_is_the_same() {
        let mut state = 1u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for case in 0..2000 {
            let mut log = Written::new(100);
            let mut bytes = [false; 100];
            let (mut start, mut len, mut step) = (0, 1, 1);
            for _ in 0..random(12) {
                if random(3) == 0 {
                    (start, len, step) = (random(90), 1 + random(9), random(12));
                }
                let end = (start + len).min(100);
                log.add(start, end);
                bytes[start as usize..end as usize].fill(true);
                start = (start + step).min(99);
            }
            let ranges = log.clone().ranges().to_vec();
            let is_written = |byte: u64| ranges.iter().any(|range| range.0 <= byte && byte < range.1);
            assert!(
                (0..100).all(|byte| is_written(byte) == bytes[byte as usize]),
                "{case}"
            );
            assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0), "{case}");
            assert!(
                (0..100).all(|byte| log.covers(byte, byte + 1) == bytes[byte as usize]),
                "{case}"
            );
        }
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
            assert!(log.covers(0, 4));
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
