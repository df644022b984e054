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
use crate::num::float::CANONICAL_NAN;
use crate::tensor_memory::Span;
use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use super::exp::{exp_16, exp2_16};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256, __m512, _CMP_UNORD_Q, _MM_FROUND_TO_NEAREST_INT, _mm_loadu_si128, _mm_storeu_si128,
    _mm256_add_ps, _mm256_and_si256, _mm256_blendv_ps, _mm256_castps_si256, _mm256_castsi256_ps,
    _mm256_cmp_ps, _mm256_cmpgt_epi32, _mm256_cvtepu16_epi32, _mm256_cvtph_ps, _mm256_cvtps_ph,
    _mm256_div_ps, _mm256_fmadd_ps, _mm256_fnmadd_ps, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_max_epi32,
    _mm256_max_epu32, _mm256_min_epi32, _mm256_movemask_epi8, _mm256_mul_ps, _mm256_set1_epi32,
    _mm256_set1_ps, _mm256_slli_epi32, _mm256_srai_epi32, _mm256_srli_epi32, _mm256_storeu_ps,
    _mm256_storeu_si256, _mm256_stream_ps, _mm256_sub_ps, _mm256_xor_si256, _mm512_add_ps, _mm512_and_si512,
    _mm512_castps_si512, _mm512_castsi512_ps, _mm512_cmp_ps_mask, _mm512_cmplt_epu32_mask,
    _mm512_cvtepu16_epi32, _mm512_cvtph_ps, _mm512_cvtps_ph, _mm512_div_ps, _mm512_fmadd_ps,
    _mm512_fnmadd_ps, _mm512_loadu_ps, _mm512_mask_mov_ps, _mm512_max_epi32, _mm512_max_epu32,
    _mm512_min_epi32, _mm512_mul_ps, _mm512_set1_epi32, _mm512_set1_ps, _mm512_slli_epi32, _mm512_srai_epi32,
    _mm512_srli_epi32, _mm512_storeu_ps, _mm512_stream_ps, _mm512_sub_epi32, _mm512_sub_ps, _mm512_xor_si512,
};

/// Lanes of the longest strip: tiles must have so many, or a multiple.
pub const MOST: usize = 128;

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
    /// The lanes: from and to a multiple of [`MOST`].
    pub lanes: Range<usize>,
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
const EXPONENTS: std::ops::RangeInclusive<u32> = 127 - 60..=127 + 60;

/// True for numbers that [`Op::DivideBy`] can divide by.
pub fn divisors(by: f32) -> bool {
    EXPONENTS.contains(&(by.to_bits() >> 23 & 0xff))
}

/// True where strips can run.
pub fn is_there(cpu: Cpu) -> bool {
    cfg!(target_arch = "x86_64") && cpu.level >= CpuLevel::Avx2
}

/// Runs the operations on all lanes: whether a NaN or an infinity was written to a tensor, if that is asked.
///
/// # Panics
/// If strips cannot run here, or an operation names what is not there.
pub fn run(cpu: Cpu, ops: &[Op], run: &mut Run<'_>) -> bool {
    assert!(is_there(cpu), "no vector instructions");
    let end = run.lanes.end;
    assert!(run.lanes.start % MOST == 0 && end % MOST == 0, "parts of strips");
    let tiles_fine = run.operands.iter().all(|operand| match operand {
        Operand::Tile(tile) => tile.len() >= end,
        Operand::Uniform(by, Some(inverse)) => divisors(*by) && *inverse == 1.0 / by,
        Operand::Uniform(_, None) => true,
    });
    let is_fine = |source: &Source| match *source {
        Source::Last => true,
        Source::Saved(i) => i < SAVED,
        Source::Operand(i) => i < run.operands.len(),
        Source::Memory(i) => i < run.windows.len(),
    };
    let all_fine = tiles_fine
        && ops.iter().all(|op| match op {
            Op::Take(source) | Op::Arith(_, source) => is_fine(source),
            Op::Choose(i, yes, no) => *i < run.ranges.len() && is_fine(yes) && is_fine(no),
            Op::Argument(i, source) => *i < ARGUMENTS && is_fine(source),
            Op::Apply(_, count) => *count <= ARGUMENTS,
            Op::Save(i) => *i < SAVED,
            Op::Result(i) => run.results.get(*i).is_some_and(|result| result.len() >= end),
            Op::Fold(i, _) => *i < run.folds.len(),
            Op::Store(i) => *i < run.windows.len(),
            Op::Exponential(..) | Op::Canonical => true,
        });
    assert!(all_fine, "an operation names what is not there");
    #[cfg(target_arch = "x86_64")]
    // SAFETY: what the operations name was checked above, and a Cpu of a level exists only where the CPU has its
    // instructions.
    unsafe {
        match cpu.level {
            CpuLevel::Avx512 => return run_avx512(cpu, ops, run),
            CpuLevel::Avx2 => return run_avx2(cpu, ops, run),
            CpuLevel::Scalar => {}
        }
    }
    false
}

/// Numbers of 16 bits in a tensor, widened: `rows` rows of `columns`, one each `stride` bytes, to the rows of `width`
/// lanes of `out`. A NaN becomes the canonical one, or, with `any_nan`, any.
///
/// # Panics
/// If strips cannot run here, or the rows are not all there.
pub fn widen_rows(
    cpu: Cpu,
    (held, any_nan): (Held, bool),
    (span, stride): (Span<'_>, usize),
    [rows, columns]: [usize; 2],
    (width, out): (usize, &mut [f32]),
) {
    let Some(last) = rows.checked_sub(1).filter(|_| columns > 0) else {
        return;
    };
    let bytes = last
        .checked_mul(stride)
        .and_then(|start| start.checked_add(2 * columns));
    let there = bytes.is_some_and(|bytes| bytes <= span.bytes()) && out.len() >= last * width + columns;
    assert!(
        held != Held::F32 && is_there(cpu) && there,
        "rows that are not there"
    );
    let together = stride == 2 * columns && width == columns;
    let of = Rows {
        from: span.start(),
        stride,
        rows: if together { 1 } else { rows },
        columns: if together { rows * columns } else { columns },
        to: out.as_mut_ptr(),
        width,
        held,
        any_nan,
    };
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the rows were checked above, and a Cpu of a level exists only where the CPU has its instructions.
    unsafe {
        match cpu.level {
            CpuLevel::Avx512 => widen_avx512(of),
            _ => widen_avx2(of),
        }
    }
}

/// What [`widen_rows`] reads and writes.
struct Rows {
    from: *const u8,
    stride: usize,
    rows: usize,
    columns: usize,
    to: *mut f32,
    width: usize,
    held: Held,
    any_nan: bool,
}

/// # Safety
/// As [`widen`], with AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
unsafe fn widen_avx512(of: Rows) {
    // SAFETY: the caller's.
    unsafe { widen_all::<__m512>(of) }
}

/// # Safety
/// As [`widen`], with AVX2 and F16C.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn widen_avx2(of: Rows) {
    // SAFETY: the caller's.
    unsafe { widen_all::<Pair>(of) }
}

/// # Safety
/// As [`widen`].
#[inline(always)]
unsafe fn widen_all<V: Sixteen>(of: Rows) {
    // SAFETY: the caller's.
    unsafe {
        match (of.held, of.any_nan) {
            (Held::F16, false) => widen(of, |from| V::load_f16(from).canonical()),
            (Held::F16, true) => widen(of, |from| V::load_f16(from)),
            (_, false) => widen(of, |from| V::load_bf16(from).canonical()),
            (_, true) => widen(of, |from| V::load_bf16(from)),
        }
    }
}

/// # Safety
/// The CPU must have the instructions of `V`; all rows must be there, and be neither read nor written by others.
#[inline(always)]
unsafe fn widen<V: Sixteen>(of: Rows, load: impl Fn(*const u16) -> V) {
    let whole = of.columns / 16 * 16;
    // SAFETY: the caller's; the last vector of a row goes by way of arrays of its size.
    unsafe {
        for row in 0..of.rows {
            let from = of.from.add(row * of.stride).cast::<u16>();
            let to = of.to.add(row * of.width);
            for column in (0..whole).step_by(16) {
                load(from.add(column)).store(to.add(column));
            }
            let rest = of.columns - whole;
            if rest > 0 {
                let (mut narrow, mut wide) = ([0u16; 16], [0f32; 16]);
                std::ptr::copy_nonoverlapping(from.add(whole), narrow.as_mut_ptr(), rest);
                load(narrow.as_ptr()).store(wide.as_mut_ptr());
                std::ptr::copy_nonoverlapping(wide.as_ptr(), to.add(whole), rest);
            }
        }
    }
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

/// All strips of `16 * N` lanes.
///
/// # Safety
/// The CPU must have the instructions of `V`, and what the operations name must be there, for all lanes of the run.
#[inline(always)]
unsafe fn strips<V: Sixteen, const N: usize>(cpu: Cpu, ops: &[Op], run: &mut Run<'_>) -> bool {
    let width = 16 * N;
    let mut special = false;
    for first in run.lanes.clone().step_by(width) {
        // SAFETY: the caller's.
        unsafe { special |= strip::<V, N>(cpu, ops, run, first) }
        run.ahead.0.pull(run.ahead.1 * N / 8);
    }
    special
}

/// The strip that begins at a lane.
///
/// # Safety
/// As [`strips`].
#[inline(always)]
unsafe fn strip<V: Sixteen, const N: usize>(cpu: Cpu, ops: &[Op], run: &mut Run<'_>, first: usize) -> bool {
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
                    let worst = store(window, &last, run.scratch, first, run.specials);
                    special |= worst >= window.held.least_special();
                }
                Op::Fold(i, fold) => {
                    let partials = run.folds[*i].as_mut_ptr();
                    let mut sums = V::load(partials);
                    for i in 0..N {
                        sums = sums.fold(last[i], *fold)
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
    // SAFETY: the caller's.
    for i in 0..N {
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

/// Writes a strip to a tensor: the largest magnitude, as bits, if it is asked for.
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
) -> u32 {
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
                return 0;
            }
            let mut worst = V::splat(0.0);
            for i in 0..N {
                worst = worst.larger_magnitude(strip[i])
            }
            let mut lanes = [0f32; 16];
            worst.store(lanes.as_mut_ptr());
            return lanes.iter().fold(0, |worst, lane| worst.max(lane.to_bits()));
        }
        let (from, to) = part(window, first, 16 * N);
        if from == to {
            return 0;
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
        let magnitudes = scratch.staged[from..to]
            .iter()
            .map(|lane| lane.to_bits() & 0x7fff_ffff);
        if specials {
            magnitudes.max().unwrap_or(0)
        } else {
            0
        }
    }
}

/// Sixteen lanes.
///
/// # Safety
/// Every method needs a CPU with the instructions of the implementing type; sixteen elements must be at a pointer, and
/// for `stream` it must be aligned to 64 bytes.
trait Sixteen: Copy {
    /// There are instructions for [`Exponential`].
    const FUNCTIONS: bool;
    unsafe fn exp(self) -> Self;
    unsafe fn exp2(self) -> Self;
    /// Divided by a number in [`divisors`], rounded once.
    ///
    /// The quotient by the inverse is off by two units of the last place at most; what it leaves, divided by the inverse,
    /// makes it one of the two next to the exact one, and then the right one (Markstein, *Computation of elementary
    /// functions on the IBM RISC System/6000 processor*, 1990, theorem 8.2: with an inverse that is rounded to nearest).
    unsafe fn divide_by(self, by: f32, inverse: f32) -> Self;
    unsafe fn splat(x: f32) -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    unsafe fn stream(self, to: *mut f32);
    /// Widened; any NaN may be any other.
    unsafe fn load_f16(from: *const u16) -> Self;
    unsafe fn load_bf16(from: *const u16) -> Self;
    /// Rounded to nearest even; NaN becomes the canonical one.
    unsafe fn store_f16(self, to: *mut u16);
    unsafe fn store_bf16(self, to: *mut u16);
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    unsafe fn div(self, other: Self) -> Self;
    unsafe fn canonical(self) -> Self;
    /// Partial results, with one more lane each.
    unsafe fn fold(self, x: Self, fold: Fold) -> Self;
    /// The larger one of magnitudes that these bits hold and those of `x`.
    unsafe fn larger_magnitude(self, x: Self) -> Self;
}

/// Rounds to bf16, lane by lane: no vector instruction that every CPU of a level has does.
///
/// # Safety
/// Sixteen numbers must fit at the pointer.
#[inline(always)]
unsafe fn bf16_of(lanes: [f32; 16], to: *mut u16) {
    use crate::num::float::{Bf16, StoredFloat};
    let mut narrow = [0u16; 16];
    for (narrow, lane) in narrow.iter_mut().zip(lanes) {
        *narrow = Bf16::from_f32(lane).0;
    }
    // SAFETY: the caller's.
    unsafe { std::ptr::copy_nonoverlapping(narrow.as_ptr(), to, 16) }
}

#[cfg(target_arch = "x86_64")]
impl Sixteen for __m512 {
    const FUNCTIONS: bool = true;

    #[inline(always)]
    unsafe fn exp(self) -> __m512 {
        // SAFETY: the trait's, here and below.
        unsafe { exp_16(self) }
    }
    #[inline(always)]
    unsafe fn exp2(self) -> __m512 {
        unsafe { exp2_16(self) }
    }
    #[inline(always)]
    unsafe fn divide_by(self, by: f32, inverse: f32) -> __m512 {
        unsafe {
            let (by, inverse) = (_mm512_set1_ps(by), _mm512_set1_ps(inverse));
            let (low, high) = (*EXPONENTS.start() << 23, *EXPONENTS.end() << 23);
            let magnitude = _mm512_and_si512(_mm512_castps_si512(self), _mm512_set1_epi32(i32::MAX));
            let above = _mm512_sub_epi32(magnitude, _mm512_set1_epi32(low as i32));
            let fine = _mm512_cmplt_epu32_mask(above, _mm512_set1_epi32((high - low) as i32));
            if fine != u16::MAX {
                return _mm512_div_ps(self, by);
            }
            let near = _mm512_mul_ps(self, inverse);
            let near = _mm512_fmadd_ps(_mm512_fnmadd_ps(near, by, self), inverse, near);
            _mm512_fmadd_ps(_mm512_fnmadd_ps(near, by, self), inverse, near)
        }
    }
    #[inline(always)]
    unsafe fn splat(x: f32) -> __m512 {
        unsafe { _mm512_set1_ps(x) }
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m512 {
        unsafe { _mm512_loadu_ps(from) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe { _mm512_storeu_ps(to, self) }
    }
    #[inline(always)]
    unsafe fn stream(self, to: *mut f32) {
        unsafe { _mm512_stream_ps(to.cast(), self) }
    }
    #[inline(always)]
    unsafe fn load_f16(from: *const u16) -> __m512 {
        unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(from.cast())) }
    }
    #[inline(always)]
    unsafe fn load_bf16(from: *const u16) -> __m512 {
        unsafe {
            let wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.cast()));
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(wide))
        }
    }
    #[inline(always)]
    unsafe fn store_f16(self, to: *mut u16) {
        unsafe {
            // The instruction keeps the upper bits of a NaN: the canonical f32 NaN becomes the f16 one.
            let halves = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(self.canonical());
            _mm256_storeu_si256(to.cast(), halves);
        }
    }
    #[inline(always)]
    unsafe fn store_bf16(self, to: *mut u16) {
        let mut lanes = [0f32; 16];
        unsafe {
            _mm512_storeu_ps(lanes.as_mut_ptr(), self);
            bf16_of(lanes, to);
        }
    }
    #[inline(always)]
    unsafe fn add(self, other: __m512) -> __m512 {
        unsafe { _mm512_add_ps(self, other) }
    }
    #[inline(always)]
    unsafe fn sub(self, other: __m512) -> __m512 {
        unsafe { _mm512_sub_ps(self, other) }
    }
    #[inline(always)]
    unsafe fn mul(self, other: __m512) -> __m512 {
        unsafe { _mm512_mul_ps(self, other) }
    }
    #[inline(always)]
    unsafe fn div(self, other: __m512) -> __m512 {
        unsafe { _mm512_div_ps(self, other) }
    }
    #[inline(always)]
    unsafe fn canonical(self) -> __m512 {
        unsafe {
            let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(self, self);
            _mm512_mask_mov_ps(self, nan, _mm512_set1_ps(CANONICAL_NAN))
        }
    }
    #[inline(always)]
    unsafe fn fold(self, x: __m512, fold: Fold) -> __m512 {
        unsafe {
            let (Fold::Greatest { nan } | Fold::Least { nan }) = fold else {
                return _mm512_add_ps(self, x);
            };
            let bits = _mm512_castps_si512(x);
            let flip = _mm512_srli_epi32::<1>(_mm512_srai_epi32::<31>(bits));
            let rank = _mm512_castsi512_ps(_mm512_xor_si512(bits, flip));
            let is_nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x, x);
            let nan = _mm512_castsi512_ps(_mm512_set1_epi32(nan));
            let rank = _mm512_castps_si512(_mm512_mask_mov_ps(rank, is_nan, nan));
            let partial = _mm512_castps_si512(self);
            _mm512_castsi512_ps(match fold {
                Fold::Least { .. } => _mm512_min_epi32(partial, rank),
                _ => _mm512_max_epi32(partial, rank),
            })
        }
    }
    #[inline(always)]
    unsafe fn larger_magnitude(self, x: __m512) -> __m512 {
        unsafe {
            let magnitude = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(i32::MAX));
            _mm512_castsi512_ps(_mm512_max_epu32(_mm512_castps_si512(self), magnitude))
        }
    }
}

/// Sixteen lanes as two vectors of eight.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Pair(__m256, __m256);

#[cfg(target_arch = "x86_64")]
impl Pair {
    /// # Safety
    /// As [`Sixteen`].
    #[inline(always)]
    unsafe fn map(self, other: Pair, f: impl Fn(__m256, __m256) -> __m256) -> Pair {
        Pair(f(self.0, other.0), f(self.1, other.1))
    }
}

#[cfg(target_arch = "x86_64")]
impl Sixteen for Pair {
    const FUNCTIONS: bool = false;

    unsafe fn exp(self) -> Pair {
        self
    }
    unsafe fn exp2(self) -> Pair {
        self
    }
    #[inline(always)]
    unsafe fn divide_by(self, by: f32, inverse: f32) -> Pair {
        // SAFETY: the trait's, here and below.
        unsafe {
            let (by, inverse) = (_mm256_set1_ps(by), _mm256_set1_ps(inverse));
            let low = _mm256_set1_epi32((*EXPONENTS.start() << 23) as i32 - 1);
            let high = _mm256_set1_epi32((*EXPONENTS.end() << 23) as i32);
            self.map(self, |x, _| {
                let magnitude = _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(i32::MAX));
                let above = _mm256_cmpgt_epi32(magnitude, low);
                let fine = _mm256_and_si256(above, _mm256_cmpgt_epi32(high, magnitude));
                if _mm256_movemask_epi8(fine) != -1 {
                    return _mm256_div_ps(x, by);
                }
                let near = _mm256_mul_ps(x, inverse);
                let near = _mm256_fmadd_ps(_mm256_fnmadd_ps(near, by, x), inverse, near);
                _mm256_fmadd_ps(_mm256_fnmadd_ps(near, by, x), inverse, near)
            })
        }
    }
    #[inline(always)]
    unsafe fn splat(x: f32) -> Pair {
        unsafe { Pair(_mm256_set1_ps(x), _mm256_set1_ps(x)) }
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Pair {
        unsafe { Pair(_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe {
            _mm256_storeu_ps(to, self.0);
            _mm256_storeu_ps(to.add(8), self.1);
        }
    }
    #[inline(always)]
    unsafe fn stream(self, to: *mut f32) {
        unsafe {
            _mm256_stream_ps(to, self.0);
            _mm256_stream_ps(to.add(8), self.1);
        }
    }
    #[inline(always)]
    unsafe fn load_f16(from: *const u16) -> Pair {
        unsafe {
            let half = |i: usize| _mm256_cvtph_ps(_mm_loadu_si128(from.add(8 * i).cast()));
            Pair(half(0), half(1))
        }
    }
    #[inline(always)]
    unsafe fn load_bf16(from: *const u16) -> Pair {
        unsafe {
            let half = |i: usize| {
                let wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(from.add(8 * i).cast()));
                _mm256_castsi256_ps(_mm256_slli_epi32::<16>(wide))
            };
            Pair(half(0), half(1))
        }
    }
    #[inline(always)]
    unsafe fn store_f16(self, to: *mut u16) {
        unsafe {
            let Pair(a, b) = self.canonical();
            _mm_storeu_si128(to.cast(), _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(a));
            _mm_storeu_si128(to.add(8).cast(), _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(b));
        }
    }
    #[inline(always)]
    unsafe fn store_bf16(self, to: *mut u16) {
        let mut lanes = [0f32; 16];
        unsafe {
            self.store(lanes.as_mut_ptr());
            bf16_of(lanes, to);
        }
    }
    #[inline(always)]
    unsafe fn add(self, other: Pair) -> Pair {
        unsafe { self.map(other, |a, b| _mm256_add_ps(a, b)) }
    }
    #[inline(always)]
    unsafe fn sub(self, other: Pair) -> Pair {
        unsafe { self.map(other, |a, b| _mm256_sub_ps(a, b)) }
    }
    #[inline(always)]
    unsafe fn mul(self, other: Pair) -> Pair {
        unsafe { self.map(other, |a, b| _mm256_mul_ps(a, b)) }
    }
    #[inline(always)]
    unsafe fn div(self, other: Pair) -> Pair {
        unsafe { self.map(other, |a, b| _mm256_div_ps(a, b)) }
    }
    #[inline(always)]
    unsafe fn canonical(self) -> Pair {
        unsafe {
            let nan = _mm256_set1_ps(CANONICAL_NAN);
            self.map(self, |x, _| {
                _mm256_blendv_ps(x, nan, _mm256_cmp_ps::<_CMP_UNORD_Q>(x, x))
            })
        }
    }
    #[inline(always)]
    unsafe fn fold(self, x: Pair, fold: Fold) -> Pair {
        unsafe {
            let (Fold::Greatest { nan } | Fold::Least { nan }) = fold else {
                return self.add(x);
            };
            let nan = _mm256_castsi256_ps(_mm256_set1_epi32(nan));
            self.map(x, |partial, x| {
                let bits = _mm256_castps_si256(x);
                let flip = _mm256_srli_epi32::<1>(_mm256_srai_epi32::<31>(bits));
                let rank = _mm256_castsi256_ps(_mm256_xor_si256(bits, flip));
                let rank = _mm256_blendv_ps(rank, nan, _mm256_cmp_ps::<_CMP_UNORD_Q>(x, x));
                let (partial, rank) = (_mm256_castps_si256(partial), _mm256_castps_si256(rank));
                _mm256_castsi256_ps(match fold {
                    Fold::Least { .. } => _mm256_min_epi32(partial, rank),
                    _ => _mm256_max_epi32(partial, rank),
                })
            })
        }
    }
    #[inline(always)]
    unsafe fn larger_magnitude(self, x: Pair) -> Pair {
        unsafe {
            self.map(x, |worst, x| {
                let magnitude = _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(i32::MAX));
                _mm256_castsi256_ps(_mm256_max_epu32(_mm256_castps_si256(worst), magnitude))
            })
        }
    }
}
