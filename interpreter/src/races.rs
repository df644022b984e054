//! Which programs touched which bytes, kept small: what races are found from.
//!
//! Programs of a grid run in any order, so two of them that touch the same bytes race if one writes and no
//! atomic orders them. Where no atomic's result is used nothing orders programs at all, and it is enough to know,
//! per byte and instruction, which programs touched it. A worker writes runs of bytes down as `Strip`s: one
//! strip holds the rows of a tile, or the blocks of thousands of neighbouring programs. Where accesses are
//! scattered, strips become [`Cells`], three numbers per element that all workers share: the lowest, second
//! lowest and highest program. Both give the same `Segment`s, whatever the number of threads.
//!
//! Launches whose programs synchronise are judged while they run ([`crate::ordered`]).

mod watch;

pub use watch::{Watch, watched};

use crate::frame::Tensor;
use crate::tape::At;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How bytes were touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Touch {
    /// A plain load.
    Read,
    /// A plain store, or an atomic whose scope is one program.
    Write,
    /// An atomic, or a volatile load.
    Atomic,
}

impl Touch {
    /// True if two such accesses by different programs race.
    pub fn conflicts(self, other: Touch) -> bool {
        self != other && self.max(other) != Touch::Read || self == Touch::Write
    }
}

/// Accesses of one instruction to one tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Who {
    /// The allocation.
    pub allocation: u32,
    /// The tensor, plus one.
    pub tensor: Tensor,
    /// The instruction.
    pub at: At,
    /// How.
    pub touch: Touch,
    /// Bytes of an element.
    pub elem: u32,
}

/// Runs of `len` bytes, `count` of them: run i at `start + i * stride`, by program `program + i * step`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Strip {
    start: u64,
    len: u64,
    stride: i64,
    count: u32,
    program: u32,
    /// 0 or 1.
    step: u32,
}

impl Strip {
    fn run(&self, i: u32) -> (u64, u64, u32) {
        let start = self.start.wrapping_add_signed(self.stride * i64::from(i));
        (start, start + self.len, self.program + i * self.step)
    }

    /// Adds a run if it continues the strip.
    fn extend(&mut self, start: u64, len: u64, program: u32) -> bool {
        let (last, end, by) = self.run(self.count - 1);
        if self.count == 1 && program == by && start == end {
            self.len += len;
            return true;
        }
        if len != self.len {
            return false;
        }
        if start == last && program == by {
            return true;
        }
        let (stride, step) = (start.wrapping_sub(last) as i64, program.wrapping_sub(by));
        if self.count == 1 && step <= 1 {
            (self.stride, self.step) = (stride, step);
        } else if (stride, step) != (self.stride, self.step) {
            return false;
        }
        self.count += 1;
        true
    }

    /// The bytes from the first to the last, if no two programs touch one inside.
    fn hull(&self) -> Option<(u64, u64)> {
        let (first, last) = (self.run(0), self.run(self.count - 1));
        let apart = self.count == 1 || self.step == 0 || self.stride.unsigned_abs() >= self.len;
        apart.then(|| (first.0.min(last.0), first.1.max(last.1)))
    }
}

/// Strips that an instruction may have before cells take their place, per worker.
const MANY: usize = 1 << 14;

/// What one worker noted.
#[derive(Debug, Clone, Default)]
pub struct Noted {
    logs: Vec<(Who, Log)>,
    /// The log that was added to last.
    last: usize,
}

#[derive(Debug, Clone, Default)]
struct Log {
    strips: Vec<Strip>,
    cells: Option<Arc<Cells>>,
}

impl Log {
    /// The highest program that touched a byte.
    fn last(&self, offset: u64) -> Option<u32> {
        let cell = self.cells.as_ref().and_then(|cells| {
            let [low, _, high] = cells.cells.get((offset / cells.elem) as usize)?;
            (low.load(Ordering::Relaxed) != NOBODY).then(|| high.load(Ordering::Relaxed))
        });
        let runs = self
            .strips
            .iter()
            .flat_map(|strip| (0..strip.count).map(|i| strip.run(i)));
        let touching = runs.filter(|(start, end, _)| (*start..*end).contains(&offset));
        touching.map(|(.., program)| program).chain(cell).max()
    }
}

/// Per element: the lowest, the second lowest and the highest program that touched it.
#[derive(Debug)]
pub struct Cells {
    elem: u64,
    cells: Vec<[AtomicU32; 3]>,
}

const NOBODY: u32 = u32::MAX;

impl Cells {
    fn new(len: u64, elem: u64) -> Cells {
        let cells = (0..len.div_ceil(elem))
            .map(|_| [AtomicU32::new(NOBODY), AtomicU32::new(NOBODY), AtomicU32::new(0)]);
        Cells {
            elem,
            cells: cells.collect(),
        }
    }

    fn add(&self, start: u64, end: u64, program: u32) {
        for i in start / self.elem..end.div_ceil(self.elem) {
            let Some([low, second, high]) = self.cells.get(i as usize) else {
                return;
            };
            let before = low.fetch_min(program, Ordering::Relaxed);
            if before != program {
                second.fetch_min(before.max(program), Ordering::Relaxed);
            }
            high.fetch_max(program, Ordering::Relaxed);
        }
    }

    fn segments(&self) -> impl Iterator<Item = Segment> + '_ {
        let mut next = 0;
        let of = move |i: usize| {
            let [low, second, high] = self.cells.get(i)?;
            let [low, second, high] = [low, second, high].map(|n| n.load(Ordering::Relaxed));
            Some((low, second, high))
        };
        std::iter::from_fn(move || {
            while of(next)?.0 == NOBODY {
                next += 1;
            }
            let (first, programs) = (next, of(next)?);
            while of(next) == Some(programs) {
                next += 1;
            }
            Some(Segment {
                start: first as u64 * self.elem,
                end: next as u64 * self.elem,
                low: programs.0,
                second: (programs.1 != NOBODY).then_some(programs.1),
                high: programs.2,
            })
        })
    }
}

/// Cells that all workers share.
#[derive(Debug, Default)]
pub struct SharedCells(Mutex<BTreeMap<Who, Arc<Cells>>>);

impl SharedCells {
    fn of(&self, who: Who, len: u64) -> Arc<Cells> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(Cells::new(len, u64::from(who.elem).max(1)));
        all.entry(who).or_insert_with(new).clone()
    }
}

/// Bytes that several programs write, and whether one would write others than are there.
#[derive(Debug, Default)]
pub struct Compare {
    written: Vec<(u32, u64, u64)>,
    /// The allocations of these bytes, and whether one would.
    differs: Vec<(u32, AtomicBool)>,
}

impl Compare {
    /// Looks at stores to these bytes: allocation, start and end, rising.
    pub fn new(written: Vec<(u32, u64, u64)>) -> Compare {
        let mut allocations: Vec<u32> = written.iter().map(|range| range.0).collect();
        allocations.dedup();
        let differs = allocations
            .into_iter()
            .map(|allocation| (allocation, AtomicBool::new(false)));
        Compare {
            differs: differs.collect(),
            written,
        }
    }

    fn flag(&self, allocation: usize) -> Option<&AtomicBool> {
        let of = self.differs.iter().find(|(of, _)| *of as usize == allocation);
        of.map(|(_, differs)| differs)
    }

    /// Which of these bytes of an allocation several programs write; none once it is known that they differ.
    pub fn wanted(&self, allocation: usize, bytes: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
        let open = self
            .flag(allocation)
            .is_some_and(|differs| !differs.load(Ordering::Relaxed));
        let at = (allocation as u32, bytes.start as u64);
        let first = match open {
            true => self.written.partition_point(|range| (range.0, range.2) <= at),
            false => self.written.len(),
        };
        let end = bytes.end;
        self.written[first..]
            .iter()
            .take_while(move |range| range.0 == at.0 && range.1 < end as u64)
            .map(move |range| bytes.start.max(range.1 as usize)..end.min(range.2 as usize))
    }

    /// Notes that other bytes are stored.
    pub fn differs(&self, allocation: usize) {
        if let Some(differs) = self.flag(allocation) {
            differs.store(true, Ordering::Relaxed);
        }
    }

    /// True if all programs would write what is there.
    pub fn is_equal(&self, allocation: usize) -> bool {
        self.flag(allocation)
            .is_none_or(|differs| !differs.load(Ordering::Relaxed))
    }
}

impl Noted {
    /// Notes that a program touched the bytes `start..end` of an allocation of `len` bytes.
    pub fn add(&mut self, who: Who, start: u64, end: u64, program: u64, shared: &SharedCells, len: u64) {
        let program = u32::try_from(program).unwrap_or(NOBODY - 1);
        let log = self.log(who);
        if let Some(cells) = &log.cells {
            cells.add(start, end, program);
            return;
        }
        if let Some(last) = log.strips.last_mut()
            && last.extend(start, end - start, program)
        {
            return;
        }
        let strip = Strip {
            start,
            len: end - start,
            stride: 0,
            count: 1,
            program,
            step: 0,
        };
        log.push(strip, who, shared, len);
    }

    /// Notes that a program touched `count` rows of `bytes` bytes, the first from `start` on and one each `stride`
    /// bytes, of an allocation of `len` bytes.
    #[allow(
        clippy::too_many_arguments,
        reason = "one call for every access, all of them at hand there"
    )]
    pub fn add_rows(
        &mut self,
        who: Who,
        [start, bytes, stride]: [u64; 3],
        count: usize,
        program: u64,
        shared: &SharedCells,
        len: u64,
    ) {
        let (Ok(count), Ok(stride)) = (u32::try_from(count), i64::try_from(stride)) else {
            return;
        };
        let strip = Strip {
            start,
            len: bytes,
            stride,
            count,
            program: u32::try_from(program).unwrap_or(NOBODY - 1),
            step: 0,
        };
        let log = self.log(who);
        match &log.cells {
            Some(cells) => drain(&mut vec![strip], cells),
            None if log.strips.last() == Some(&strip) => {}
            None => log.push(strip, who, shared, len),
        }
    }

    /// Notes that neighbouring programs touched runs of `bytes` bytes, the first from `start` on and one each `stride` bytes:
    /// what [`add`](Noted::add) notes of them one by one.
    pub fn add_even(
        &mut self,
        who: Who,
        [start, bytes]: [u64; 2],
        stride: i64,
        programs: Range<u64>,
        shared: &SharedCells,
        len: u64,
    ) {
        let fits = programs.end < u64::from(NOBODY);
        for (i, program) in (0..).zip(programs.clone()) {
            let start = start.wrapping_add_signed(stride * i);
            self.add(who, start, start + bytes, program, shared, len);
            // A strip that ends with two of them goes on with all others.
            let rest = (programs.end - program - 1) as u32;
            if fits && i == 1 && self.log(who).go_on((stride, bytes), rest) {
                return;
            }
        }
    }

    #[inline]
    fn log(&mut self, who: Who) -> &mut Log {
        if self.logs.get(self.last).is_none_or(|log| log.0 != who) {
            let known = self.logs.iter().position(|log| log.0 == who);
            self.last = known.unwrap_or(self.logs.len());
            if known.is_none() {
                self.logs.push((who, Log::default()));
            }
        }
        &mut self.logs[self.last].1
    }

    /// Adds what another worker noted.
    pub fn merge(&mut self, other: Noted) {
        for (who, theirs) in other.logs {
            let ours = self.log(who);
            ours.strips.extend(theirs.strips);
            ours.cells = ours.cells.take().or(theirs.cells);
        }
    }

    /// The races among what was noted: the first of each two instructions.
    pub fn races(&mut self) -> Found {
        self.logs.sort_by_key(|log| log.0);
        for (_, log) in &mut self.logs {
            if let Some(cells) = &log.cells {
                drain(&mut log.strips, cells);
            }
        }
        let mut found = Found::default();
        for logs in self.logs.chunk_by(|a, b| a.0.allocation == b.0.allocation) {
            let writes = logs.iter().any(|(who, _)| who.touch != Touch::Read);
            if writes && !are_apart(logs) {
                find(logs, &mut found);
            }
        }
        found
    }

    /// The highest program that wrote a byte of an allocation.
    pub fn writer(&self, allocation: usize, offset: u64) -> Option<u64> {
        let logs = self
            .logs
            .iter()
            .filter(|(who, _)| who.allocation as usize == allocation && who.touch != Touch::Read);
        let writer = logs.filter_map(|(_, log)| log.last(offset)).max();
        writer.map(u64::from)
    }
}

impl Log {
    /// Adds `more` runs behind the last two, if these are of a strip in which programs follow each other.
    fn go_on(&mut self, (stride, len): (i64, u64), more: u32) -> bool {
        let last = self.strips.last_mut().filter(|_| self.cells.is_none());
        let fits =
            |strip: &Strip| strip.count > 1 && (strip.stride, strip.step, strip.len) == (stride, 1, len);
        last.filter(|strip| fits(strip)).is_some_and(|strip| {
            strip.count += more;
            true
        })
    }

    fn push(&mut self, strip: Strip, who: Who, shared: &SharedCells, len: u64) {
        self.strips.push(strip);
        if self.strips.len() > MANY {
            let cells = shared.of(who, len);
            drain(&mut self.strips, &cells);
            self.cells = Some(cells);
        }
    }
}

fn drain(strips: &mut Vec<Strip>, cells: &Cells) {
    for strip in strips.drain(..) {
        for i in 0..strip.count {
            let (start, end, program) = strip.run(i);
            cells.add(start, end, program);
        }
    }
}

/// True if it is plain that no two programs touch a byte.
fn are_apart(logs: &[(Who, Log)]) -> bool {
    are_in_a_row(logs) || are_tiles(logs)
}

/// True if strips are rectangles of one matrix, in bands of rows of their own: those that begin in one row lie side by
/// side.
fn are_tiles(logs: &[(Who, Log)]) -> bool {
    let all = || logs.iter().flat_map(|(_, log)| &log.strips);
    let Some(stride) = all()
        .find(|strip| strip.count > 1 && strip.stride > 0)
        .map(|strip| strip.stride as u64)
    else {
        return false;
    };
    // First row, first and one past the last byte of a row, one past the last row, program.
    let mut tiles: Vec<(u64, u64, u64, u64, u32)> = Vec::new();
    for strip in all() {
        let row = strip.start.checked_div(stride).unwrap_or(u64::MAX);
        let column = strip.start % stride.max(1);
        let fits = column + strip.len <= stride;
        let of_matrix = strip.count == 1 || strip.step == 0 && strip.stride as u64 == stride;
        if !fits || !of_matrix {
            return false;
        }
        let rows = u64::from(strip.count);
        tiles.push((row, column, column + strip.len, row + rows, strip.program));
    }
    tiles.sort_unstable();
    // One past the last row of the band.
    let mut bottom = tiles.first().map_or(0, |tile| tile.3);
    tiles.windows(2).all(|pair| {
        let (a, b) = (pair[0], pair[1]);
        let same_band = a.0 == b.0;
        let apart = match same_band {
            true => b.1 >= a.2 || a == b,
            false => b.0 >= bottom,
        };
        bottom = bottom.max(b.3);
        apart
    }) && logs.iter().all(|(_, log)| log.cells.is_none())
}

/// True if strips lie one behind the other.
fn are_in_a_row(logs: &[(Who, Log)]) -> bool {
    let strips = logs.iter().map(|(_, log)| log.strips.len()).sum();
    let mut hulls: Vec<(u64, u64, u32, u32)> = Vec::with_capacity(strips);
    for (_, log) in logs {
        if log.cells.is_some() {
            return false;
        }
        for strip in &log.strips {
            let Some((start, end)) = strip.hull() else {
                return false;
            };
            let last = strip.run(strip.count - 1).2;
            hulls.push((start, end, strip.program, last));
        }
    }
    hulls.sort_unstable();
    let mut reach = (0, None);
    for &(start, end, first, last) in &hulls {
        let by = (first == last).then_some(first);
        if start < reach.0 && (by.is_none() || by != reach.1) {
            return false;
        }
        let same = start < reach.0;
        if end > reach.0 || !same {
            reach = (end.max(reach.0), by);
        }
    }
    true
}

/// Bytes that the same programs touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Segment {
    start: u64,
    end: u64,
    low: u32,
    second: Option<u32>,
    high: u32,
}

/// The segments of strips, rising.
fn segments(strips: &[Strip]) -> Vec<Segment> {
    let total: usize = strips.iter().map(|s| s.count as usize).sum();
    let mut edges: Vec<(u64, bool, u32)> = Vec::with_capacity(2 * total);
    for strip in strips {
        for i in 0..strip.count {
            let (start, end, program) = strip.run(i);
            edges.push((start, true, program));
            edges.push((end, false, program));
        }
    }
    // Ends before starts at one place.
    edges.sort_unstable();
    let mut active: BTreeMap<u32, u32> = BTreeMap::new();
    let mut found: Vec<Segment> = Vec::new();
    let mut from = 0;
    for (at, starts, program) in edges {
        if at > from && !active.is_empty() {
            let mut lowest = active.keys().copied();
            let segment = Segment {
                start: from,
                end: at,
                low: lowest.next().unwrap_or(NOBODY),
                second: lowest.next(),
                high: active.keys().next_back().copied().unwrap_or(0),
            };
            match found.last_mut() {
                Some(last)
                    if last.end == from
                        && (last.low, last.second, last.high)
                            == (segment.low, segment.second, segment.high) =>
                {
                    last.end = at;
                }
                _ => found.push(segment),
            }
        }
        from = at;
        if starts {
            *active.entry(program).or_default() += 1;
        } else if let Some(times) = active.get_mut(&program) {
            *times -= 1;
            if *times == 0 {
                active.remove(&program);
            }
        }
    }
    found
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// Of each two instructions on a tensor, the first.
    pub races: Vec<Race>,
    /// Allocation and bytes that several programs write, rising.
    pub written: Vec<(u32, u64, u64)>,
    /// Instructions that read of a tensor what another program writes.
    pub read: BTreeSet<(At, Tensor)>,
}

/// Two programs that touch the same bytes, with nothing that orders them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Race {
    /// The access of the program that is later in linear order.
    pub later: Who,
    /// The other one.
    pub earlier: Who,
    /// Linear numbers of the programs: later, earlier.
    pub programs: (u32, u32),
    /// Byte offset in the allocation.
    pub offset: u64,
    /// Bytes at which these two instructions race.
    pub bytes: u64,
}

impl Race {
    /// Both write.
    pub fn is_write_write(&self) -> bool {
        self.later.touch != Touch::Read && self.earlier.touch != Touch::Read
    }

    /// The order of importance: writes first, then the first program.
    fn rank(&self) -> (bool, u32, u32, At, At, u64) {
        let (later, earlier) = self.programs;
        (
            !self.is_write_write(),
            later,
            earlier,
            self.later.at,
            self.earlier.at,
            self.offset,
        )
    }
}

/// Of the races of two instructions keeps the first, with the bytes of all.
pub fn keep_first(known: &mut Race, race: Race) {
    let bytes = known.bytes + race.bytes;
    if race.rank() < known.rank() {
        *known = race;
    }
    known.bytes = bytes;
}

/// Of the races at one place with one tensor, two writes or a read and a write, the first.
pub fn one_per_place(races: Vec<Race>) -> Vec<Race> {
    let mut first: BTreeMap<(bool, At, Tensor), Race> = BTreeMap::new();
    for race in races {
        let place = (race.is_write_write(), race.later.at, race.later.tensor);
        let known = first.entry(place).or_insert(race);
        if race.rank() < known.rank() {
            *known = race;
        }
    }
    first.into_values().collect()
}

/// Goes over all instructions' segments of one allocation at once.
fn find(logs: &[(Who, Log)], found: &mut Found) {
    type Segments<'a> = Box<dyn Iterator<Item = Segment> + 'a>;
    let mut sources: Vec<std::iter::Peekable<Segments<'_>>> = logs
        .iter()
        .map(|(_, log)| {
            let all: Segments<'_> = match &log.cells {
                Some(cells) => Box::new(cells.segments()),
                None => Box::new(segments(&log.strips).into_iter()),
            };
            all.peekable()
        })
        .collect();
    let mut pairs: BTreeMap<(usize, usize), Race> = BTreeMap::new();
    let mut from = 0;
    loop {
        let mut to = u64::MAX;
        let mut here: Vec<(usize, Segment)> = Vec::new();
        for (i, source) in sources.iter_mut().enumerate() {
            while source.peek().is_some_and(|segment| segment.end <= from) {
                source.next();
            }
            match source.peek() {
                Some(segment) if segment.start <= from => {
                    to = to.min(segment.end);
                    here.push((i, *segment));
                }
                Some(segment) => to = to.min(segment.start),
                None => {}
            }
        }
        if to == u64::MAX {
            break;
        }
        let mut segment: Vec<((usize, usize), Race)> = Vec::new();
        for &(i, first) in &here {
            for &(j, second) in &here {
                let (earlier, later) = (logs[i].0, logs[j].0);
                if earlier.touch.conflicts(later.touch)
                    && let Some(programs) = meet(first, second)
                {
                    // Bytes at which both may be the later one count once.
                    let twice = i > j && meet(second, first).is_some();
                    let race = Race {
                        later,
                        earlier,
                        programs,
                        offset: from,
                        bytes: if twice { 0 } else { to - from },
                    };
                    segment.push(((i.min(j), i.max(j)), race));
                }
            }
        }
        for who in segment.iter().flat_map(|(_, race)| [race.later, race.earlier]) {
            if who.touch == Touch::Read {
                found.read.insert((who.at, who.tensor));
            }
        }
        // Reads of what several programs write have their cause there.
        let written = segment.iter().any(|(_, race)| race.is_write_write());
        segment.retain(|(_, race)| race.is_write_write() || !written);
        for (pair, race) in segment {
            if written {
                note_written(&mut found.written, race.later.allocation, from, to);
            }
            let known = pairs.entry(pair).or_insert(Race { bytes: 0, ..race });
            keep_first(known, race);
        }
        from = to;
    }
    found.races.extend(pairs.into_values());
}

fn note_written(written: &mut Vec<(u32, u64, u64)>, allocation: u32, from: u64, to: u64) {
    match written.last_mut() {
        Some(last) if last.0 == allocation && from <= last.2 => last.2 = last.2.max(to),
        _ => written.push((allocation, from, to)),
    }
}

/// A program of the second, and a lower one of the first.
fn meet(earlier: Segment, later: Segment) -> Option<(u32, u32)> {
    let low = earlier.low;
    [Some(later.low), later.second, Some(later.high)]
        .into_iter()
        .flatten()
        .find(|&program| program > low)
        .map(|program| (program, low))
}

#[cfg(test)]
mod tests;
