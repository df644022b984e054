//! Straight-line programs on tiles of f32, a strip of lanes at a time: what passes from one operation to the next stays
//! in vector registers.
//!
//! A strip goes through all operations before the next one does. Each takes what the last one left and one more
//! operand: a number, a tile, lanes in a tensor (f16 and bf16 are widened as they are read, and rounded as they are
//! written) or what was saved before. So a tensor is read and written once, whatever is done with its lanes; a row is
//! summed or its extreme found on the way. Operations that have no vector instruction are loops over the lanes of the
//! strip.
//!
//! The operations are those of [`crate::num`], lane by lane, and of [`crate::steps::fold`], in its order, so the bits are
//! the same. Where a NaN is made it may be any NaN until [`Op::Canonical`], [`Op::Apply`] or a conversion to fewer bits.
//! There is no version without vector instructions ([`is_there`]): the operations then run one after the other.

#![allow(clippy::needless_range_loop, reason = "lanes of several vectors, by number")]

use super::{Cpu, CpuLevel};
use crate::ahead::Ahead;
use crate::frame::Tile;
use crate::lanes::Loop;
use crate::tensor_memory::Span;
use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use super::sixteen::Pair;
use super::sixteen::Sixteen;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m512;

/// Lanes of the longest strip: tiles must have so many, or a multiple.
pub const MOST: usize = 128;

/// Lanes of the shortest strip.
pub const SHORT: usize = 16;

/// Partial results of a fold.
pub const PARTIALS: usize = 16;

/// Strips that can be saved at once.
pub const SAVED: usize = 6;

/// Most operands of an operation that is a loop.
pub const ARGUMENTS: usize = 3;

/// Two operands to one; the first is what the last operation left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arith {
    Add,
    Sub,
    /// The second less the first.
    SubFrom,
    Mul,
    Div,
    /// The second divided by the first.
    DivInto,
}

/// One operand to one, with instructions of their own on some CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exponential {
    Exp,
    Exp2,
}

/// How lanes of a row become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    Sum,
    /// The extremes of ranks: integers of the same order ([`crate::steps::fold`]). A NaN counts as the least, or most.
    Greatest {
        nan: i32,
    },
    Least {
        nan: i32,
    },
}

impl Fold {
    /// Partial results before the first lane.
    pub fn start(self) -> [f32; PARTIALS] {
        [match self {
            // The only number that changes none it is added to.
            Fold::Sum => -0.0,
            Fold::Greatest { .. } => f32::from_bits(i32::MIN as u32),
            Fold::Least { .. } => f32::from_bits(i32::MAX as u32),
        }; PARTIALS]
    }
}

/// How numbers are held in a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    F32,
    F16,
    Bf16,
}

impl Held {
    fn bytes(self) -> usize {
        match self {
            Held::F32 => 4,
            Held::F16 | Held::Bf16 => 2,
        }
    }

    /// Bits of the least magnitude that is no finite number when it is rounded to this.
    fn least_special(self) -> u32 {
        match self {
            Held::F32 => 0x7f80_0000,
            // 65520 and 2^128 - 2^119: halfway from the largest number to the next power of two.
            Held::F16 => 0x477f_f000,
            Held::Bf16 => 0x7f7f_8000,
        }
    }
}

/// Lanes `first..last` of a tile in a tensor.
#[derive(Debug, Clone, Copy)]
pub struct Window<'a> {
    span: Span<'a>,
    held: Held,
    first: usize,
    last: usize,
    /// What all other lanes are, where it is read.
    other: f32,
    /// It is written past the caches.
    stream: bool,
}

impl<'a> Window<'a> {
    /// No lanes.
    pub const EMPTY: Window<'static> = Window {
        span: Span::EMPTY,
        held: Held::F32,
        first: 0,
        last: 0,
        other: 0.0,
        stream: false,
    };

    /// Lanes that are there one after the other, what all others are, and whether they are written past the caches, where
    /// the lines allow it.
    pub fn new(span: Span<'a>, held: Held, lanes: Range<usize>, other: f32, stream: bool) -> Window<'a> {
        assert!(
            lanes.start <= lanes.end && span.bytes() == (lanes.end - lanes.start) * held.bytes(),
            "lanes that are not there"
        );
        let head = lanes.start * held.bytes();
        let on_lines = span.start().addr().wrapping_sub(head).is_multiple_of(64);
        Window {
            span,
            held,
            first: lanes.start,
            last: lanes.end,
            other,
            stream: stream && on_lines && held == Held::F32,
        }
    }

    /// The lanes.
    pub fn lanes(&self) -> Range<usize> {
        self.first..self.last
    }

    /// The same lanes at another place.
    pub fn at<'b>(&self, span: Span<'b>, stream: bool) -> Window<'b> {
        Window::new(span, self.held, self.first..self.last, self.other, stream)
    }
}

/// A second operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// What the last operation left.
    Last,
    /// What was saved under a number.
    Saved(usize),
    /// An operand of the run, by number.
    Operand(usize),
    /// Lanes of a tensor: a window of the run, by number.
    Memory(usize),
}

/// An operand of a run.
#[derive(Debug, Clone, Copy)]
pub enum Operand<'a> {
    /// The same in every lane, and its inverse if it is one of [`divisors`].
    Uniform(f32, Option<f32>),
    /// A tile.
    Tile(&'a [f32]),
}

impl Operand<'_> {
    /// The same in every lane.
    #[inline]
    pub fn uniform(x: f32) -> Operand<'static> {
        Operand::Uniform(x, divisors(x).then(|| 1.0 / x))
    }
}

/// An operation on a strip.
#[derive(Debug, Clone, Copy)]
pub enum Op {
    /// Begins with this.
    Take(Source),
    /// Combines what the last operation left with this.
    Arith(Arith, Source),
    /// A function of it, and the same as a loop.
    Exponential(Exponential, Loop<f32>),
    /// Lanes in a range of the run, by number, are from the first, others from the second.
    Choose(usize, Source, Source),
    /// Makes this operand number so much of the next [`Op::Apply`].
    Argument(usize, Source),
    /// A loop over so many operands.
    Apply(Loop<f32>, usize),
    /// Makes every NaN the canonical one.
    Canonical,
    /// Keeps it under a number.
    Save(usize),
    /// Writes it to a result.
    Result(usize),
    /// Writes it to a tensor: a window of the run, by number.
    Store(usize),
    /// Combines its lanes with partial results.
    Fold(usize, Fold),
}

/// Room for what is saved, kept from run to run.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub struct Scratch {
    saved: [[f32; MOST]; SAVED],
    arguments: [[f32; MOST]; ARGUMENTS],
    staged: [f32; MOST],
    narrow: [u16; MOST],
}

impl Default for Scratch {
    fn default() -> Scratch {
        Scratch {
            saved: [[0.0; MOST]; SAVED],
            arguments: [[0.0; MOST]; ARGUMENTS],
            staged: [0.0; MOST],
            narrow: [0; MOST],
        }
    }
}

/// What a run reads, writes and needs beside its operations.
pub struct Run<'a> {
    /// The lanes: from a multiple of [`MOST`] to one of [`SHORT`].
    pub lanes: Range<usize>,
    /// Lanes behind those, up to this number, are alike in all operands, windows and ranges, and in no window that is
    /// written: one of them is done for all. A multiple of [`SHORT`]; as `lanes.end` where none are.
    pub alike: usize,
    /// Numbers and tiles.
    pub operands: &'a [Operand<'a>],
    /// Lanes of tensors.
    pub windows: &'a [Window<'a>],
    /// Lanes that are chosen.
    pub ranges: &'a [(usize, usize)],
    /// Tiles to write.
    pub results: &'a mut [&'a mut [f32]],
    /// Partial results.
    pub folds: &'a mut [[f32; PARTIALS]],
    /// Lines to ask for, and how many beside [`MOST`] lanes.
    pub ahead: (&'a mut Ahead, usize),
    /// Look for NaN and infinities in what is written to tensors.
    pub specials: bool,
    /// Room.
    pub scratch: &'a mut Scratch,
}

/// Exponents of what can be divided without a division instruction, and by what: nothing on the way overflows, or falls
/// below the normal numbers.
pub(super) const EXPONENTS: std::ops::RangeInclusive<u32> = 127 - 60..=127 + 60;

/// True for numbers that [`Operand::Uniform`] can divide by.
pub fn divisors(by: f32) -> bool {
    EXPONENTS.contains(&(by.to_bits() >> 23 & 0xff))
}

/// True where strips can run.
pub fn is_there(cpu: Cpu) -> bool {
    cfg!(target_arch = "x86_64") && cpu.level >= CpuLevel::Avx2
}

/// Operations, and how many of what they name must be there.
#[derive(Debug, Default)]
pub struct Ops {
    ops: Vec<Op>,
    operands: usize,
    windows: usize,
    ranges: usize,
    results: usize,
    folds: usize,
}

impl Ops {
    /// Operations in their order.
    ///
    /// # Panics
    /// If one needs more room than there is.
    pub fn new(ops: Vec<Op>) -> Ops {
        let mut all = Ops::default();
        for op in &ops {
            let need = |most: &mut usize, number: usize| *most = (*most).max(number + 1);
            let mut sources = [Source::Last; 2];
            match *op {
                Op::Take(source) | Op::Arith(_, source) => sources[0] = source,
                Op::Choose(range, yes, no) => {
                    need(&mut all.ranges, range);
                    sources = [yes, no];
                }
                Op::Argument(i, source) => {
                    assert!(i < ARGUMENTS, "no such argument");
                    sources[0] = source;
                }
                Op::Apply(_, count) => assert!(count <= ARGUMENTS, "too many arguments"),
                Op::Save(i) => assert!(i < SAVED, "no such room"),
                Op::Result(i) => need(&mut all.results, i),
                Op::Fold(i, _) => need(&mut all.folds, i),
                Op::Store(i) => need(&mut all.windows, i),
                Op::Exponential(..) | Op::Canonical => {}
            }
            for source in sources {
                match source {
                    Source::Last => {}
                    Source::Saved(i) => assert!(i < SAVED, "no such room"),
                    Source::Operand(i) => need(&mut all.operands, i),
                    Source::Memory(i) => need(&mut all.windows, i),
                }
            }
        }
        all.ops = ops;
        all
    }
}

/// Runs the operations on all lanes: whether a NaN or an infinity was written to a tensor, if that is asked.
///
/// # Panics
/// If strips cannot run here, or an operation names what is not there.
pub fn run(cpu: Cpu, ops: &Ops, run: &mut Run<'_>) -> bool {
    assert!(is_there(cpu), "no vector instructions");
    let (start, end, alike) = (run.lanes.start, run.lanes.end, run.alike);
    let in_strips = start.is_multiple_of(MOST) && end.is_multiple_of(SHORT) && alike.is_multiple_of(SHORT);
    assert!(in_strips && start <= end && end <= alike, "parts of strips");
    // The last strip may be a whole one.
    let end = alike.max(end.next_multiple_of(MOST));
    let tiles_fine = run.operands.iter().all(|operand| match operand {
        Operand::Tile(tile) => tile.len() >= end,
        Operand::Uniform(by, Some(inverse)) => divisors(*by) && *inverse == 1.0 / by,
        Operand::Uniform(_, None) => true,
    });
    let all_fine = tiles_fine
        && run.results.iter().all(|result| result.len() >= end)
        && ops.operands <= run.operands.len()
        && ops.windows <= run.windows.len()
        && ops.ranges <= run.ranges.len()
        && ops.results <= run.results.len()
        && ops.folds <= run.folds.len();
    assert!(all_fine, "an operation names what is not there");
    #[cfg(target_arch = "x86_64")]
    // SAFETY: what the operations name was checked above, and a Cpu of a level exists only where the CPU has its
    // instructions.
    unsafe {
        match cpu.level {
            CpuLevel::Avx512 => return run_avx512(cpu, &ops.ops, run),
            CpuLevel::Avx2 => return run_avx2(cpu, &ops.ops, run),
            CpuLevel::Scalar => {}
        }
    }
    false
}

/// # Safety
/// The CPU must have AVX-512; otherwise as [`strips`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
unsafe fn run_avx512(cpu: Cpu, ops: &[Op], run: &mut Run<'_>) -> bool {
    // SAFETY: the caller's.
    unsafe { strips::<__m512, 8>(cpu, ops, run) }
}

/// # Safety
/// The CPU must have AVX2 and F16C; otherwise as [`strips`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn run_avx2(cpu: Cpu, ops: &[Op], run: &mut Run<'_>) -> bool {
    // SAFETY: the caller's.
    unsafe { strips::<Pair, 4>(cpu, ops, run) }
}

/// All strips: of `16 * N` lanes as long as more than half of one is left, then of [`SHORT`].
///
/// # Safety
/// The CPU must have the instructions of `V`, and what the operations name must be there, for all lanes of the run.
#[inline(always)]
unsafe fn strips<V: Sixteen, const N: usize>(cpu: Cpu, ops: &[Op], run: &mut Run<'_>) -> bool {
    let (mut first, end) = (run.lanes.start, run.lanes.end);
    let mut special = false;
    while first + SHORT * N / 2 < end {
        // SAFETY: the caller's.
        unsafe { special |= strip::<V, N>(cpu, ops, run, first, 1) }
        run.ahead.0.pull(run.ahead.1 * N / 8);
        first += SHORT * N;
    }
    while first < end {
        // SAFETY: the caller's.
        unsafe { special |= strip::<V, 1>(cpu, ops, run, first, 1) }
        run.ahead.0.pull(run.ahead.1.div_ceil(8));
        first += SHORT;
    }
    if first < run.alike {
        let times = (run.alike - first) / SHORT;
        // SAFETY: the caller's; nothing is written to a tensor.
        unsafe { special |= strip::<V, 1>(cpu, ops, run, first, times) }
        for result in run.results.iter_mut() {
            let lane = result[first];
            result[first + SHORT..run.alike].fill(lane);
        }
    }
    special
}

/// The strip that begins at a lane; it is combined with partial results so many times.
///
/// # Safety
/// As [`strips`].
#[inline(always)]
unsafe fn strip<V: Sixteen, const N: usize>(
    cpu: Cpu,
    ops: &[Op],
    run: &mut Run<'_>,
    first: usize,
    times: usize,
) -> bool {
    let width = 16 * N;
    let mut special = false;
    // SAFETY: the caller's, for all that follows; pointers into arrays and tiles stay inside, because all of them have
    // lanes up to the end of the strip.
    unsafe {
        let mut last = [V::splat(0.0); N];
        for op in ops {
            match op {
                Op::Take(source) => last = fetch(*source, &last, run, first),
                Op::Arith(Arith::Div, Source::Operand(operand))
                    if let Operand::Uniform(by, Some(inverse)) = run.operands[*operand] =>
                {
                    for i in 0..N {
                        last[i] = last[i].divide_by(by, inverse)
                    }
                }
                Op::Arith(arith, source) => {
                    let other = fetch(*source, &last, run, first);
                    match arith {
                        Arith::Add => {
                            for i in 0..N {
                                last[i] = last[i].add(other[i])
                            }
                        }
                        Arith::Sub => {
                            for i in 0..N {
                                last[i] = last[i].sub(other[i])
                            }
                        }
                        Arith::SubFrom => {
                            for i in 0..N {
                                last[i] = other[i].sub(last[i])
                            }
                        }
                        Arith::Mul => {
                            for i in 0..N {
                                last[i] = last[i].mul(other[i])
                            }
                        }
                        Arith::Div => {
                            for i in 0..N {
                                last[i] = last[i].div(other[i])
                            }
                        }
                        Arith::DivInto => {
                            for i in 0..N {
                                last[i] = other[i].div(last[i])
                            }
                        }
                    }
                }
                Op::Exponential(function, each) => {
                    if V::FUNCTIONS {
                        match function {
                            Exponential::Exp => {
                                for i in 0..N {
                                    last[i] = last[i].exp()
                                }
                            }
                            Exponential::Exp2 => {
                                for i in 0..N {
                                    last[i] = last[i].exp2()
                                }
                            }
                        }
                    } else {
                        put(&last, run.scratch.arguments[0].as_mut_ptr());
                        let tile = [Tile::Dense(&run.scratch.arguments[0][..width])];
                        each(cpu, &tile, &mut run.scratch.staged[..width]);
                        last = get(run.scratch.staged.as_ptr());
                    }
                }
                Op::Choose(range, yes, no) => {
                    let (from, to) = run.ranges[*range];
                    last = choose(from..to, [*yes, *no], &last, run, first);
                }
                Op::Argument(i, source) => {
                    let argument = fetch(*source, &last, run, first);
                    put(&argument, run.scratch.arguments[*i].as_mut_ptr());
                }
                Op::Apply(each, count) => {
                    let [a, b, c] = &run.scratch.arguments;
                    let tiles = [
                        Tile::Dense(&a[..width]),
                        Tile::Dense(&b[..width]),
                        Tile::Dense(&c[..width]),
                    ];
                    each(cpu, &tiles[..*count], &mut run.scratch.staged[..width]);
                    last = get(run.scratch.staged.as_ptr());
                }
                Op::Canonical => {
                    for i in 0..N {
                        last[i] = last[i].canonical()
                    }
                }
                Op::Save(i) => put(&last, run.scratch.saved[*i].as_mut_ptr()),
                Op::Result(i) => put(&last, run.results[*i].as_mut_ptr().add(first)),
                Op::Store(window) => {
                    let window = &run.windows[*window];
                    special |= store(window, &last, run.scratch, first, run.specials);
                }
                Op::Fold(i, fold) => {
                    let partials = run.folds[*i].as_mut_ptr();
                    let mut sums = V::load(partials);
                    for i in 0..N {
                        sums = sums.fold(last[i], *fold)
                    }
                    for _ in 1..times {
                        let more = sums.fold(last[0], *fold);
                        // It stays as it is: a zero was added, or an extreme found.
                        if more.is_same(sums) {
                            break;
                        }
                        sums = more;
                    }
                    sums.store(partials);
                }
            }
        }
    }
    special
}

/// # Safety
/// The CPU must have the instructions of `V`, and `16 * N` numbers must be there.
#[inline(always)]
unsafe fn get<V: Sixteen, const N: usize>(from: *const f32) -> [V; N] {
    // SAFETY: the caller's.
    unsafe {
        let mut strip = [V::splat(0.0); N];
        for i in 0..N {
            strip[i] = V::load(from.add(16 * i));
        }
        strip
    }
}

/// Numbers as they are in a tensor, widened.
///
/// # Safety
/// As [`get`].
#[inline(always)]
unsafe fn widened<V: Sixteen, const N: usize>(from: *const u8, held: Held) -> [V; N] {
    // SAFETY: the caller's.
    unsafe {
        let mut strip = [V::splat(0.0); N];
        match held {
            Held::F32 => return get(from.cast()),
            Held::F16 => {
                for i in 0..N {
                    strip[i] = V::load_f16(from.cast::<u16>().add(16 * i));
                }
            }
            Held::Bf16 => {
                for i in 0..N {
                    strip[i] = V::load_bf16(from.cast::<u16>().add(16 * i));
                }
            }
        }
        strip
    }
}

/// # Safety
/// As [`get`], to write.
#[inline(always)]
unsafe fn put<V: Sixteen, const N: usize>(strip: &[V; N], to: *mut f32) {
    for i in 0..N {
        // SAFETY: the caller's.
        unsafe { strip[i].store(to.add(16 * i)) }
    }
}

/// A second operand.
///
/// # Safety
/// As [`strips`].
#[inline(always)]
unsafe fn fetch<V: Sixteen, const N: usize>(
    source: Source,
    last: &[V; N],
    run: &mut Run<'_>,
    first: usize,
) -> [V; N] {
    // SAFETY: the caller's.
    unsafe {
        match source {
            Source::Last => *last,
            Source::Saved(i) => get(run.scratch.saved[i].as_ptr()),
            Source::Operand(i) => match run.operands[i] {
                Operand::Uniform(x, _) => [V::splat(x); N],
                Operand::Tile(tile) => get(tile.as_ptr().add(first)),
            },
            Source::Memory(i) => {
                let window = &run.windows[i];
                if window.first <= first && first + 16 * N <= window.last {
                    let from = window
                        .span
                        .start()
                        .add((first - window.first) * window.held.bytes());
                    widened(from, window.held)
                } else {
                    fetch_part(window, run.scratch, first)
                }
            }
        }
    }
}

/// A strip of which some lanes are in the tensor, or none.
///
/// # Safety
/// As [`strips`].
#[inline(always)]
unsafe fn fetch_part<V: Sixteen, const N: usize>(
    window: &Window<'_>,
    scratch: &mut Scratch,
    first: usize,
) -> [V; N] {
    let width = 16 * N;
    let (from, to) = part(window, first, width);
    let staged = &mut scratch.staged;
    // SAFETY: the caller's; the part is inside the window and the strip.
    unsafe {
        if from < to {
            let bytes = window.held.bytes();
            let start = window.span.start().add((first + from - window.first) * bytes);
            let room = match window.held {
                Held::F32 => staged.as_mut_ptr().add(from).cast::<u8>(),
                Held::F16 | Held::Bf16 => scratch.narrow.as_mut_ptr().add(from).cast::<u8>(),
            };
            std::ptr::copy_nonoverlapping(start, room, (to - from) * bytes);
            if window.held != Held::F32 {
                let wide: [V; N] = widened(scratch.narrow.as_ptr().cast(), window.held);
                put(&wide, staged.as_mut_ptr());
            }
        }
        staged[..from.min(width)].fill(window.other);
        staged[to.max(from)..width].fill(window.other);
        get(staged.as_ptr())
    }
}

/// The part of the strip of `width` lanes from `first` on that is in the window, counted in the strip; (0, 0) if none.
#[inline(always)]
fn part(window: &Window<'_>, first: usize, width: usize) -> (usize, usize) {
    let from = window.first.clamp(first, first + width) - first;
    let to = window.last.clamp(first, first + width) - first;
    if from < to { (from, to) } else { (0, 0) }
}

/// Lanes in the range from the first source, others from the second.
///
/// # Safety
/// As [`strips`].
#[inline(always)]
unsafe fn choose<V: Sixteen, const N: usize>(
    range: Range<usize>,
    [yes, no]: [Source; 2],
    last: &[V; N],
    run: &mut Run<'_>,
    first: usize,
) -> [V; N] {
    let end = first + 16 * N;
    // SAFETY: the caller's.
    unsafe {
        if range.start <= first && end <= range.end {
            return fetch(yes, last, run, first);
        }
        let other = fetch(no, last, run, first);
        if range.end <= first || end <= range.start {
            return other;
        }
        let chosen: [V; N] = fetch(yes, last, run, first);
        let scratch = &mut *run.scratch;
        let staged = &mut scratch.staged;
        put(&other, staged.as_mut_ptr());
        let room = &mut scratch.arguments[0];
        put(&chosen, room.as_mut_ptr());
        let inside = range.start.max(first) - first..range.end.min(end) - first;
        staged[inside.clone()].copy_from_slice(&room[inside]);
        get(staged.as_ptr())
    }
}

/// Writes a strip to a tensor: whether a lane becomes a NaN or an infinity there, if that is asked.
///
/// # Safety
/// As [`strips`].
#[inline(always)]
unsafe fn store<V: Sixteen, const N: usize>(
    window: &Window<'_>,
    strip: &[V; N],
    scratch: &mut Scratch,
    first: usize,
    specials: bool,
) -> bool {
    let bytes = window.held.bytes();
    // SAFETY: the caller's; what is written is inside the window.
    unsafe {
        if window.first <= first && first + 16 * N <= window.last {
            let to = window.span.start().add((first - window.first) * bytes);
            match window.held {
                Held::F32 if window.stream => {
                    for i in 0..N {
                        strip[i].stream(to.cast::<f32>().add(16 * i))
                    }
                }
                Held::F32 => put(strip, to.cast()),
                Held::F16 => {
                    for i in 0..N {
                        strip[i].store_f16(to.cast::<u16>().add(16 * i))
                    }
                }
                Held::Bf16 => {
                    for i in 0..N {
                        strip[i].store_bf16(to.cast::<u16>().add(16 * i))
                    }
                }
            }
            if !specials {
                return false;
            }
            let mut worst = V::splat(0.0);
            for i in 0..N {
                worst = worst.larger_magnitude(strip[i])
            }
            return worst.reaches(window.held.least_special());
        }
        let (from, to) = part(window, first, 16 * N);
        if from == to {
            return false;
        }
        put(strip, scratch.staged.as_mut_ptr());
        let narrow = scratch.narrow.as_mut_ptr();
        match window.held {
            Held::F32 => {}
            Held::F16 => {
                for i in 0..N {
                    strip[i].store_f16(narrow.add(16 * i))
                }
            }
            Held::Bf16 => {
                for i in 0..N {
                    strip[i].store_bf16(narrow.add(16 * i))
                }
            }
        }
        let lanes = match window.held {
            Held::F32 => scratch.staged.as_ptr().add(from).cast::<u8>(),
            Held::F16 | Held::Bf16 => scratch.narrow.as_ptr().add(from).cast::<u8>(),
        };
        let start = window.span.start().add((first + from - window.first) * bytes);
        std::ptr::copy_nonoverlapping(lanes, start, (to - from) * bytes);
        let is_special = |lane: &f32| lane.to_bits() & 0x7fff_ffff >= window.held.least_special();
        specials && scratch.staged[from..to].iter().any(is_special)
    }
}
