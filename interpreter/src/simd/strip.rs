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

use super::plan::{Plan, STEPS, plan};
use super::step::{Spread, find};
use super::straight::{self, Level};
use super::{Cpu, CpuLevel};
use crate::ahead::Ahead;
use crate::lanes::Loop;
use crate::tensor_memory::Span;
use std::cell::{Cell, UnsafeCell};
use std::ops::Range;

pub use super::step::Steps;

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

/// Most numbers and tiles of a run.
pub const OPERANDS: usize = 8;

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
pub enum Transcendental {
    Exp,
    Exp2,
    Erf,
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
    /// The extremes of numbers, NaN left out, unless they are a zero, whose sign then is not to be relied on, or what they
    /// begin with.
    Max,
    Min,
}

impl Fold {
    /// The same with one instruction per vector, if there is one that mostly gives the same.
    pub fn quick(self) -> Option<Fold> {
        match self {
            Fold::Greatest { nan: i32::MIN } => Some(Fold::Max),
            Fold::Least { nan: i32::MAX } => Some(Fold::Min),
            _ => None,
        }
    }

    /// Partial results before the first lane.
    pub fn start(self) -> [f32; PARTIALS] {
        [match self {
            // The only number that changes none it is added to.
            Fold::Sum => -0.0,
            Fold::Greatest { .. } => f32::from_bits(i32::MIN as u32),
            Fold::Least { .. } => f32::from_bits(i32::MAX as u32),
            Fold::Max => f32::NEG_INFINITY,
            Fold::Min => f32::INFINITY,
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
    pub(super) fn bytes(self) -> usize {
        match self {
            Held::F32 => 4,
            Held::F16 | Held::Bf16 => 2,
        }
    }

    /// Bits of the least magnitude that is no finite number when it is rounded to this.
    pub(super) fn least_special(self) -> u32 {
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
    pub(super) span: Span<'a>,
    pub(super) held: Held,
    pub(super) first: usize,
    pub(super) last: usize,
    /// What all other lanes are, where it is read.
    pub(super) other: f32,
    /// It is written past the caches.
    pub(super) stream: bool,
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

    /// Such lanes at another place.
    pub fn at<'b>(&self, span: Span<'b>, lanes: Range<usize>, stream: bool) -> Window<'b> {
        Window::new(span, self.held, lanes, self.other, stream)
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
    /// The same in every lane, and its inverse if it is one of [`divisors`], else zero.
    Uniform(f32, f32),
    /// A tile.
    Tile(&'a [f32]),
    /// A tile that another run makes.
    Made(&'a [Cell<f32>]),
}

impl Operand<'_> {
    /// The same in every lane.
    #[inline]
    pub fn uniform(x: f32) -> Operand<'static> {
        Operand::Uniform(x, if divisors(x) { 1.0 / x } else { 0.0 })
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
    Transcendental(Transcendental, Loop<f32>),
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
#[derive(Debug, Default)]
pub struct Scratch(UnsafeCell<Rooms>);

#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Rooms {
    pub(super) saved: [[f32; MOST]; SAVED],
    pub(super) arguments: [[f32; MOST]; ARGUMENTS],
    pub(super) staged: [f32; MOST],
    /// What nobody reads.
    pub(super) unused: [f32; PARTIALS],
    pub(super) spread: Spread,
}

impl Default for Rooms {
    fn default() -> Rooms {
        Rooms {
            saved: [[0.0; MOST]; SAVED],
            arguments: [[0.0; MOST]; ARGUMENTS],
            staged: [0.0; MOST],
            unused: [0.0; PARTIALS],
            spread: Spread::default(),
        }
    }
}

/// What a run does and writes, whatever it reads.
#[derive(Debug, Clone)]
pub struct Run<'a> {
    /// The lanes: from a multiple of [`MOST`] to one of [`SHORT`].
    pub lanes: Range<usize>,
    /// Lanes behind those, up to this number, are alike in all operands, windows and ranges, and in no window that is
    /// written: one of them is done for all. A multiple of [`SHORT`]; as `lanes.end` where none are.
    pub alike: usize,
    /// Lanes that are chosen.
    pub ranges: &'a [(usize, usize)],
    /// Tiles to write: of lanes that are alike, the first ones only.
    pub results: &'a [&'a [Cell<f32>]],
    /// Partial results.
    pub folds: &'a [Cell<[f32; PARTIALS]>],
    /// Lines of memory to ask for beside [`MOST`] lanes.
    pub lines: usize,
    /// Room.
    pub scratch: &'a Scratch,
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
    plans: Vec<Plan>,
    operands: usize,
    windows: usize,
    ranges: usize,
    results: usize,
    folds: usize,
    /// What the windows hold.
    held: Vec<Held>,
}

impl Ops {
    /// Operations in their order, and what their windows hold; none if they are too many.
    ///
    /// # Panics
    /// If one needs more room than there is.
    pub fn new(ops: &[Op], held: Vec<Held>) -> Option<Ops> {
        let mut all = Ops::default();
        for op in ops {
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
                Op::Transcendental(..) | Op::Canonical => {}
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
        assert!(all.windows <= held.len(), "no such window");
        (all.plans, all.held) = (plan(ops, &held), held);
        (all.plans.len() <= STEPS).then_some(all)
    }
}

/// Operations that are ready to go over lanes, again and again, wherever their windows and operands are.
#[derive(Debug)]
pub struct Ready<'a> {
    cpu: Cpu,
    ops: &'a Ops,
    run: Run<'a>,
    steps: (&'a mut Steps, usize),
    /// Lanes that tiles must have.
    end: usize,
}

impl<'a> Ready<'a> {
    /// Makes them ready.
    ///
    /// # Panics
    /// If strips cannot run here, or an operation names what is not there.
    pub fn new(cpu: Cpu, ops: &'a Ops, run: Run<'a>, steps: &'a mut Steps) -> Ready<'a> {
        assert!(is_there(cpu), "no vector instructions");
        let (start, end, alike) = (run.lanes.start, run.lanes.end, run.alike);
        let in_strips =
            start.is_multiple_of(MOST) && end.is_multiple_of(SHORT) && alike.is_multiple_of(SHORT);
        assert!(in_strips && start <= end && end <= alike, "parts of strips");
        // The last strip may be a whole one.
        let end = alike.max(end.next_multiple_of(MOST));
        let all_fine = run.results.iter().all(|result| result.len() >= end)
            && ops.ranges <= run.ranges.len()
            && ops.results <= run.results.len()
            && ops.folds <= run.folds.len();
        assert!(all_fine, "an operation names what is not there");
        // SAFETY: what the operations name was checked above.
        let count = unsafe { find(&ops.plans, &run, run.scratch.0.get(), steps) };
        Ready {
            cpu,
            ops,
            run,
            steps: (steps, count),
            end,
        }
    }

    /// What it does and writes.
    pub fn run(&self) -> &Run<'a> {
        &self.run
    }

    /// Runs the operations on all lanes: whether a NaN or an infinity was written to a tensor. Between two turns the
    /// room is theirs and that of others that are ready, whose operands of one number are the same number or tile: what is
    /// spread there once is not spread again.
    ///
    /// # Panics
    /// If an operation names what is not there.
    pub fn go(&mut self, windows: &[Window<'_>], operands: &[Operand<'_>], ahead: &mut Ahead) -> bool {
        let ops = self.ops;
        let tiles_fine = operands.iter().all(|operand| match operand {
            Operand::Tile(tile) => tile.len() >= self.end,
            Operand::Made(tile) => tile.len() >= self.end,
            Operand::Uniform(by, inverse) => {
                debug_assert!(*inverse == 0.0 || divisors(*by) && *inverse == 1.0 / by);
                true
            }
        });
        let all_fine = tiles_fine
            && windows.iter().zip(&ops.held).all(|(w, &held)| w.held == held)
            && operands.len() <= OPERANDS
            && ops.operands <= operands.len()
            && ops.windows <= windows.len();
        assert!(all_fine, "an operation names what is not there");
        #[cfg(target_arch = "x86_64")]
        // SAFETY: what the operations name was checked above and before, and a Cpu of a level exists only where the CPU has
        // its instructions. The room is this thread's only, and no reference into it is kept.
        unsafe {
            let steps = (&mut *self.steps.0, self.steps.1);
            let run = (&self.run, self.run.scratch.0.get(), steps);
            match self.cpu.level {
                CpuLevel::Avx512 => {
                    return straight::Avx512::turn(self.cpu, run, windows, operands, ahead);
                }
                CpuLevel::Avx2 => {
                    return straight::Avx2::turn(self.cpu, run, windows, operands, ahead);
                }
                CpuLevel::Scalar => {}
            }
        }
        false
    }
}
