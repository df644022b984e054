//! Reduce and scan by one operation: sums, products, extremes, bitwise combinations.
//!
//! The order, and so every bit, is that of the general form ([`super::reduce`], [`super::scan`]); what is
//! saved is the staging of batches.

use crate::frame::{Frame, Slot, Tile};
use crate::kind::{Bool, Kind, Lane};
use crate::lanes::Signless;
use crate::num::Canonical;
use crate::num::float::{Bf16, F8E4M3, F8E5M2, F16};
use crate::num::math::Arithmetic;
use crate::simd::{Cpu, FlatLoop, running, strip};
use crate::steps::reduce::{Along, PARTIALS};
use crate::tensor_memory::Span;
use tilescope_ir::{Function, OpCode, OpId};

/// The loops of one operation on lanes of one kind.
#[derive(Debug, Clone, Copy)]
pub struct Fold {
    /// Combines a dimension away: operand, result.
    pub reduce: fn(&mut Frame, Cpu, Along, Slot, Slot),
    /// Combines along a dimension, from the last element if reversed: operand, result.
    pub scan: fn(&mut Frame, Cpu, Along, bool, Slot, Slot),
    /// The same from memory to memory, for operations that make no finite number of one that is not.
    pub rows: Option<RunningRows>,
}

/// Combines the elements of up to `running::ROWS` rows, each from its first span to its second one: true for those that
/// hold a NaN or an infinity then.
pub type RunningRows = fn(Cpu, &[[Span<'_>; 2]], usize) -> [bool; running::ROWS];

/// The loops for the region of a reduce or scan, if it is one operation of its two arguments.
pub fn of_region(function: &Function, op: OpId, kind: Kind) -> Option<Fold> {
    fold(operation(function, op)?, kind)
}

/// The same for lanes of f32 that are combined strip by strip.
pub fn of_strips(function: &Function, op: OpId, kind: Kind) -> Option<strip::Fold> {
    if kind != Kind::F32 {
        return None;
    }
    let (least, most) = (<f32 as Ranked>::LEAST, <f32 as Ranked>::MOST);
    match operation(function, op)? {
        OpCode::AddF => Some(strip::Fold::Sum),
        OpCode::MaxNumF => Some(strip::Fold::Greatest { nan: least }),
        OpCode::MaximumF => Some(strip::Fold::Greatest { nan: most }),
        OpCode::MinNumF => Some(strip::Fold::Least { nan: most }),
        OpCode::MinimumF => Some(strip::Fold::Least { nan: least }),
        _ => None,
    }
}

/// The number that partial results of strips give.
pub fn of_partials(fold: strip::Fold, partials: [f32; PARTIALS]) -> f32 {
    let rank = |x: f32| x.to_bits() as i32;
    match fold {
        strip::Fold::Sum => halved(partials, |a, b| a + b).canonical(),
        // None of these is a NaN.
        strip::Fold::Max => halved(partials, |a, b| if a < b { b } else { a }),
        strip::Fold::Min => halved(partials, |a, b| if b < a { b } else { a }),
        strip::Fold::Greatest { .. } => f32::of_rank(halved(partials.map(rank), i32::max)),
        strip::Fold::Least { .. } => f32::of_rank(halved(partials.map(rank), i32::min)),
    }
}

/// Partials combined: number j with number j + half, until one is left.
#[inline(always)]
fn halved<T: Copy>(mut partials: [T; PARTIALS], combine: impl Fn(T, T) -> T) -> T {
    let mut half = PARTIALS / 2;
    while half > 0 {
        for i in 0..half {
            partials[i] = combine(partials[i], partials[i + half]);
        }
        half /= 2;
    }
    partials[0]
}

/// True if it is the right number: what `strip::Fold::quick` gives may be in doubt.
pub fn is_sure(fold: strip::Fold, number: f32) -> bool {
    let quick = matches!(fold, strip::Fold::Max | strip::Fold::Min);
    !quick || number != 0.0 && number.is_finite()
}

/// The operation that a region is, if it is one of its two arguments.
fn operation(function: &Function, op: OpId) -> Option<OpCode> {
    let [region] = function.ops[op].regions[..] else {
        return None;
    };
    let [block] = function.regions[region].blocks[..] else {
        return None;
    };
    let block = &function.blocks[block];
    let ([only, last], [sum, element]) = (&block.ops[..], &block.args[..]) else {
        return None;
    };
    let (only, last) = (&function.ops[*only], &function.ops[*last]);
    // Every operation of the table below gives the same bits with its operands exchanged.
    let takes_both = only.operands[..] == [*sum, *element] || only.operands[..] == [*element, *sum];
    (takes_both && only.results == last.operands).then_some(only.code)
}

/// An operation on two lanes. Several steps may leave the NaN of the CPU if `finish` then makes it
/// canonical: no other lane depends on which NaN it is.
trait Combine: Sized {
    type Lane: Lane;
    fn step(a: Self::Lane, b: Self::Lane) -> Self::Lane;
    fn finish(a: Self::Lane) -> Self::Lane {
        a
    }
    /// A row of at least [`PARTIALS`] neighbouring elements, combined.
    #[inline(always)]
    fn row(row: &[Self::Lane]) -> Self::Lane {
        Self::finish(row_of_lanes::<Self>(row))
    }
}

macro_rules! combine {
    ($($name:ident<$bound:ident>: $step:expr;)*) => {$(
        #[derive(Debug)]
        struct $name<T>(std::marker::PhantomData<T>);
        impl<T: Lane + $bound> Combine for $name<T> {
            type Lane = T;
            #[inline(always)]
            fn step(a: T, b: T) -> T {
                let step: fn(T, T) -> T = $step;
                step(a, b)
            }
        }
    )*};
}

combine! {
    AddF<Arithmetic>: |a, b| Arithmetic::add(a, b);
    MulF<Arithmetic>: |a, b| Arithmetic::mul(a, b);
    AddI<Signless>: |a, b| Signless::add(a, b);
    MulI<Signless>: |a, b| Signless::mul(a, b);
    MaxS<Signless>: |a, b| Signless::max_signed(a, b);
    MinS<Signless>: |a, b| Signless::min_signed(a, b);
    MaxU<Signless>: |a, b| Signless::max_unsigned(a, b);
    MinU<Signless>: |a, b| Signless::min_unsigned(a, b);
    And<Signless>: |a, b| Signless::and(a, b);
    Or<Signless>: |a, b| Signless::or(a, b);
    Xor<Signless>: |a, b| Signless::xor(a, b);
}

/// Floats as integers of the same order, −0 below +0. The extremes of a row are then those of integers, which are
/// the same in any order and take one instruction per vector.
trait Ranked: Lane + Arithmetic {
    type Rank: Ord + Copy;
    /// Below and above every number: ranks of NaN.
    const LEAST: Self::Rank;
    const MOST: Self::Rank;
    /// The rank of a number; `nan` if it is none.
    fn rank(self, nan: Self::Rank) -> Self::Rank;
    /// The number of a rank, the canonical NaN for [`LEAST`](Ranked::LEAST) and [`MOST`](Ranked::MOST).
    fn of_rank(rank: Self::Rank) -> Self;
}

/// Bits as an unsigned and a signed integer, and the largest magnitude that is no NaN.
macro_rules! ranked {
    ($($t:ty: $u:ty as $i:ty, $largest:expr, |$x:ident| $bits:expr, |$b:ident| $value:expr;)*) => {$(
        impl Ranked for $t {
            type Rank = $i;
            const LEAST: $i = <$i>::MIN;
            const MOST: $i = <$i>::MAX;

            #[inline(always)]
            fn rank(self, nan: $i) -> $i {
                let $x = self;
                let bits = $bits as $i;
                let rank = bits ^ (((bits >> (<$i>::BITS - 1)) as $u) >> 1) as $i;
                if bits & <$i>::MAX > $largest { nan } else { rank }
            }

            #[inline(always)]
            fn of_rank(rank: $i) -> $t {
                // The inverse is the same; the least rank becomes the greatest, which is the canonical NaN.
                let rank = if rank == <$i>::MIN { <$i>::MAX } else { rank };
                let $b = (rank ^ (((rank >> (<$i>::BITS - 1)) as $u) >> 1) as $i) as $u;
                $value
            }
        }
    )*};
}

ranked! {
    f32: u32 as i32, 0x7f80_0000, |x| x.to_bits(), |b| f32::from_bits(b);
    f64: u64 as i64, 0x7ff0_0000_0000_0000, |x| x.to_bits(), |b| f64::from_bits(b);
    F16: u16 as i16, 0x7c00, |x| x.0, |b| F16(b);
    Bf16: u16 as i16, 0x7f80, |x| x.0, |b| Bf16(b);
    F8E4M3: u8 as i8, 0x7e, |x| x.0, |b| F8E4M3(b);
    F8E5M2: u8 as i8, 0x7c, |x| x.0, |b| F8E5M2(b);
}

/// The extremes: the operation on two lanes, the extreme of two ranks, where that begins, what a NaN counts as.
macro_rules! extremes {
    ($($name:ident: $step:ident, $of_ranks:ident, $first:ident, $nan:ident;)*) => {$(
        #[derive(Debug)]
        struct $name<T>(std::marker::PhantomData<T>);
        impl<T: Ranked> Combine for $name<T> {
            type Lane = T;
            #[inline(always)]
            fn step(a: T, b: T) -> T {
                Arithmetic::$step(a, b)
            }
            #[inline(always)]
            fn row(row: &[T]) -> T {
                // Ranks that stay in registers: nothing else is done with single ones.
                let mut ranks = [T::$first; PARTIALS];
                let (parts, _) = row.as_chunks::<PARTIALS>();
                for part in parts {
                    for (rank, x) in ranks.iter_mut().zip(part) {
                        *rank = (*rank).$of_ranks(x.rank(T::$nan));
                    }
                }
                T::of_rank(halved(ranks, |a, b| a.$of_ranks(b)))
            }
        }
    )*};
}

extremes! {
    MaxNum: maxnum, max, LEAST, LEAST;
    MinNum: minnum, min, MOST, MOST;
    Maximum: maximum, max, LEAST, MOST;
    Minimum: minimum, min, MOST, LEAST;
}

macro_rules! native {
    ($($name:ident: $t:ty, $op:tt;)*) => {$(
        #[derive(Debug)]
        struct $name;
        impl Combine for $name {
            type Lane = $t;
            #[inline(always)]
            fn step(a: $t, b: $t) -> $t {
                a $op b
            }
            #[inline(always)]
            fn finish(a: $t) -> $t {
                a.canonical()
            }
        }
    )*};
}

native! {
    AddF32: f32, +;
    MulF32: f32, *;
    AddF64: f64, +;
    MulF64: f64, *;
}

/// Floats of the CPU.
trait Native: Lane {
    fn is_finite(self) -> bool;
}

impl Native for f32 {
    fn is_finite(self) -> bool {
        f32::is_finite(self)
    }
}

impl Native for f64 {
    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }
}

const fn loops<C: Combine>() -> Fold {
    Fold {
        reduce: reduce::<C>,
        scan: scan::<C>,
        rows: None,
    }
}

/// The same for an operation of the CPU that makes no finite number of one that is not.
const fn native_loops<C: Combine<Lane: Native>>() -> Fold {
    Fold {
        rows: Some(running_in_memory::<C>),
        ..loops::<C>()
    }
}

fn fold(code: OpCode, kind: Kind) -> Option<Fold> {
    macro_rules! floats {
        ($combine:ident) => {
            match kind {
                Kind::F8E4M3 => loops::<$combine<F8E4M3>>(),
                Kind::F8E5M2 => loops::<$combine<F8E5M2>>(),
                Kind::F16 => loops::<$combine<F16>>(),
                Kind::Bf16 => loops::<$combine<Bf16>>(),
                Kind::F32 => loops::<$combine<f32>>(),
                Kind::F64 => loops::<$combine<f64>>(),
                _ => return None,
            }
        };
    }
    macro_rules! integers {
        ($combine:ident) => {
            match kind {
                Kind::Bool => loops::<$combine<Bool>>(),
                Kind::I8 => loops::<$combine<u8>>(),
                Kind::I16 => loops::<$combine<u16>>(),
                Kind::I32 => loops::<$combine<u32>>(),
                Kind::I64 => loops::<$combine<u64>>(),
                _ => return None,
            }
        };
    }
    Some(match (code, kind) {
        (OpCode::AddF, Kind::F32) => native_loops::<AddF32>(),
        (OpCode::MulF, Kind::F32) => native_loops::<MulF32>(),
        (OpCode::AddF, Kind::F64) => native_loops::<AddF64>(),
        (OpCode::MulF, Kind::F64) => native_loops::<MulF64>(),
        (OpCode::AddF, _) => floats!(AddF),
        (OpCode::MulF, _) => floats!(MulF),
        (OpCode::MaxNumF, _) => floats!(MaxNum),
        (OpCode::MinNumF, _) => floats!(MinNum),
        (OpCode::MaximumF, _) => floats!(Maximum),
        (OpCode::MinimumF, _) => floats!(Minimum),
        (OpCode::AddI, _) => integers!(AddI),
        (OpCode::MulI, _) => integers!(MulI),
        (OpCode::MaxSI, _) => integers!(MaxS),
        (OpCode::MinSI, _) => integers!(MinS),
        (OpCode::MaxUI, _) => integers!(MaxU),
        (OpCode::MinUI, _) => integers!(MinU),
        (OpCode::AndI, _) => integers!(And),
        (OpCode::OrI, _) => integers!(Or),
        (OpCode::XorI, _) => integers!(Xor),
        _ => return None,
    })
}

fn reduce<C: Combine>(frame: &mut Frame, cpu: Cpu, along: Along, from: Slot, to: Slot) {
    let Along { outer, axis, inner } = along;
    if let Tile::Uniform(value) = frame.tile::<C::Lane>(from, along.lanes()) {
        let bits = reduce_same::<C>(value, along).to_bits();
        frame.set_uniform(to, bits);
        return;
    }
    let mut buffer = frame.take::<C::Lane>(to, outer * inner);
    let out = buffer.lanes::<C::Lane>(outer * inner);
    if let Tile::Dense(from) = frame.tile::<C::Lane>(from, along.lanes()) {
        cpu.run(Rows::<C> {
            from,
            out,
            axis,
            inner,
        });
    }
    let first = out[0].to_bits();
    frame.put(to, buffer);
    if outer * inner == 1 {
        frame.set_uniform(to, first);
    }
}

/// All elements are the same, so all partials are.
fn reduce_same<C: Combine>(value: C::Lane, along: Along) -> C::Lane {
    if along.axis == 1 {
        return value;
    }
    let mut sum = value;
    for _ in 1..along.axis / along.partials() {
        sum = C::step(sum, value);
    }
    for _ in 0..along.partials().ilog2() {
        sum = C::step(sum, sum);
    }
    C::finish(sum)
}

/// All rows of a reduce.
struct Rows<'a, C: Combine> {
    from: &'a [C::Lane],
    out: &'a mut [C::Lane],
    axis: usize,
    inner: usize,
}

impl<C: Combine> FlatLoop for Rows<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let rows = self.from.chunks_exact(self.axis * self.inner);
        if self.axis == 1 {
            self.out.copy_from_slice(self.from);
        } else if self.inner == 1 && self.axis >= PARTIALS {
            for (row, out) in rows.zip(self.out) {
                *out = C::row(row);
            }
        } else {
            let width = self.axis.min(PARTIALS) * self.inner;
            let mut sums: Vec<C::Lane> = vec![C::Lane::from_bits(0); width];
            for (row, out) in rows.zip(self.out.chunks_exact_mut(self.inner)) {
                row_of_runs::<C>(row, &mut sums, out);
            }
        }
    }
}

/// One row of neighbouring elements, at least [`PARTIALS`] of them.
#[inline(always)]
fn row_of_lanes<C: Combine>(row: &[C::Lane]) -> C::Lane {
    let (parts, _) = row.as_chunks::<PARTIALS>();
    let mut sums = parts[0];
    for part in &parts[1..] {
        for (sum, element) in sums.iter_mut().zip(part) {
            *sum = C::step(*sum, *element);
        }
    }
    let mut half = PARTIALS / 2;
    while half > 0 {
        for i in 0..half {
            sums[i] = C::step(sums[i], sums[i + half]);
        }
        half /= 2;
    }
    sums[0]
}

/// One row of runs of elements that are combined separately; the sums are as wide as all partials.
#[inline(always)]
fn row_of_runs<C: Combine>(row: &[C::Lane], sums: &mut [C::Lane], out: &mut [C::Lane]) {
    let (first, rest) = row.split_at(sums.len());
    sums.copy_from_slice(first);
    for part in rest.chunks_exact(sums.len()) {
        for (sum, element) in sums.iter_mut().zip(part) {
            *sum = C::step(*sum, *element);
        }
    }
    let mut width = sums.len();
    while width > out.len() {
        width /= 2;
        let (low, high) = sums.split_at_mut(width);
        for (sum, other) in low.iter_mut().zip(high) {
            *sum = C::step(*sum, *other);
        }
    }
    for (out, sum) in out.iter_mut().zip(sums) {
        *out = C::finish(*sum);
    }
}

fn scan<C: Combine>(frame: &mut Frame, cpu: Cpu, along: Along, reverse: bool, from: Slot, to: Slot) {
    let lanes = along.lanes();
    if along.axis == 1 {
        frame.copy(from, to, lanes * size_of::<C::Lane>());
        return;
    }
    let mut buffer = frame.take::<C::Lane>(to, lanes);
    let out = buffer.lanes::<C::Lane>(lanes);
    match frame.tile::<C::Lane>(from, lanes) {
        Tile::Uniform(value) => out.fill(value),
        Tile::Dense(from) => out.copy_from_slice(from),
    }
    cpu.run(Running::<C> { out, along, reverse });
    frame.put(to, buffer);
}

/// A scan in place.
struct Running<'a, C: Combine> {
    out: &'a mut [C::Lane],
    along: Along,
    reverse: bool,
}

impl<C: Combine> FlatLoop for Running<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Along { axis, inner, .. } = self.along;
        if inner == 1 {
            let mut groups = self.out.chunks_exact_mut(ROWS * axis);
            for rows in &mut groups {
                running_rows::<C, ROWS>(rows, axis, self.reverse);
            }
            for row in groups.into_remainder().chunks_exact_mut(axis) {
                running_rows::<C, 1>(row, axis, self.reverse);
            }
            return;
        }
        for row in self.out.chunks_exact_mut(axis * inner) {
            for i in 1..axis {
                if self.reverse {
                    let (before, after) = row.split_at_mut((axis - i) * inner);
                    running_run::<C>(&after[..inner], &mut before[(axis - i - 1) * inner..]);
                } else {
                    let (before, after) = row.split_at_mut(i * inner);
                    running_run::<C>(&before[(i - 1) * inner..], &mut after[..inner]);
                }
            }
        }
    }
}

/// Rows that are scanned side by side: a row alone waits for each operation to end before the next.
const ROWS: usize = 8;

/// `N` rows of neighbouring elements.
#[inline(always)]
fn running_rows<C: Combine, const N: usize>(rows: &mut [C::Lane], axis: usize, reverse: bool) {
    let at = |i: usize| if reverse { axis - 1 - i } else { i };
    let mut sums: [C::Lane; N] = std::array::from_fn(|row| rows[row * axis + at(0)]);
    for i in 1..axis {
        for (row, sum) in sums.iter_mut().enumerate() {
            let element = &mut rows[row * axis + at(i)];
            *sum = C::step(*sum, *element);
            *element = C::finish(*sum);
        }
    }
}

/// Rows in memory.
fn running_in_memory<C: Combine<Lane: Native>>(
    cpu: Cpu,
    spans: &[[Span<'_>; 2]],
    lanes: usize,
) -> [bool; running::ROWS] {
    let mut special = [false; running::ROWS];
    match *spans {
        [a, b, c, d] => {
            let last = running::rows(cpu, [a, b, c, d], lanes, C::step, C::finish);
            special = last.map(|last| !last.is_finite());
        }
        _ => {
            for (special, &span) in special.iter_mut().zip(spans) {
                let [last] = running::rows(cpu, [span], lanes, C::step, C::finish);
                *special = !last.is_finite();
            }
        }
    }
    special
}

#[inline(always)]
fn running_run<C: Combine>(sums: &[C::Lane], elements: &mut [C::Lane]) {
    for (sum, element) in sums.iter().zip(elements) {
        *element = C::finish(C::step(*sum, *element));
    }
}
