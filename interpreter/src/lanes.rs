//! Lane functions of the element-wise operations, made from the op table, and the flat loops that
//! apply them to tiles.

use crate::frame::{Frame, Slot, Tile};
use crate::kind::{Bool, Kind, Lane};
use crate::num::float::{Bf16, F8E4M3, F8E5M2, F16, StoredFloat};
use crate::num::int::Int;
use crate::num::math::{Arithmetic, Elementary, erf_slice, exp_slice, exp2_slice};
use crate::simd::{Cpu, FlatLoop};
use tilescope_ir::OpCode;

/// Integers without a sign, as the IR has them: each operation says how it reads the bits.
pub trait Signless: Lane {
    /// Sum, wrapping.
    fn add(self, b: Self) -> Self;
    /// Difference, wrapping.
    fn sub(self, b: Self) -> Self;
    /// Product, wrapping.
    fn mul(self, b: Self) -> Self;
    /// Upper half of the unsigned product.
    fn mul_high_unsigned(self, b: Self) -> Self;
    /// Quotient toward zero.
    fn div_signed(self, b: Self) -> Self;
    /// Unsigned quotient.
    fn div_unsigned(self, b: Self) -> Self;
    /// Remainder with the sign of the dividend.
    fn rem_signed(self, b: Self) -> Self;
    /// Unsigned remainder.
    fn rem_unsigned(self, b: Self) -> Self;
    /// Quotient toward plus infinity.
    fn ceil_div_signed(self, b: Self) -> Self;
    /// Unsigned quotient, rounded up.
    fn ceil_div_unsigned(self, b: Self) -> Self;
    /// Quotient toward minus infinity.
    fn floor_div_signed(self, b: Self) -> Self;
    /// Bitwise and.
    fn and(self, b: Self) -> Self;
    /// Bitwise or.
    fn or(self, b: Self) -> Self;
    /// Bitwise exclusive or.
    fn xor(self, b: Self) -> Self;
    /// Left shift.
    fn shl(self, b: Self) -> Self;
    /// Arithmetic right shift.
    fn shr_signed(self, b: Self) -> Self;
    /// Logical right shift.
    fn shr_unsigned(self, b: Self) -> Self;
    /// Signed minimum.
    fn min_signed(self, b: Self) -> Self;
    /// Signed maximum.
    fn max_signed(self, b: Self) -> Self;
    /// Unsigned minimum.
    fn min_unsigned(self, b: Self) -> Self;
    /// Unsigned maximum.
    fn max_unsigned(self, b: Self) -> Self;
    /// Absolute value, wrapping.
    fn abs_signed(self) -> Self;
    /// Number of one bits.
    fn count_ones(self) -> Self;
    /// Number of leading zeros.
    fn leading_zeros(self) -> Self;
    /// Number of trailing zeros.
    fn trailing_zeros(self) -> Self;
    /// Signed less-than.
    fn less_signed(self, b: Self) -> bool;
    /// Unsigned less-than.
    fn less_unsigned(self, b: Self) -> bool;
    /// Signed division or remainder without a result: divisor 0, or the smallest integer by -1.
    fn is_faulty_signed(self, b: Self) -> bool;
}

macro_rules! signless {
    ($($u:ty as $i:ty;)*) => {$(
        impl Signless for $u {
            #[inline(always)]
            fn add(self, b: Self) -> Self { self.wrapping_add(b) }
            #[inline(always)]
            fn sub(self, b: Self) -> Self { self.wrapping_sub(b) }
            #[inline(always)]
            fn mul(self, b: Self) -> Self { self.wrapping_mul(b) }
            #[inline(always)]
            fn mul_high_unsigned(self, b: Self) -> Self { Int::mulhi(self, b) }
            #[inline(always)]
            fn div_signed(self, b: Self) -> Self { Int::div(self as $i, b as $i) as $u }
            #[inline(always)]
            fn div_unsigned(self, b: Self) -> Self { Int::div(self, b) }
            #[inline(always)]
            fn rem_signed(self, b: Self) -> Self { Int::rem(self as $i, b as $i) as $u }
            #[inline(always)]
            fn rem_unsigned(self, b: Self) -> Self { Int::rem(self, b) }
            #[inline(always)]
            fn ceil_div_signed(self, b: Self) -> Self { Int::ceil_div(self as $i, b as $i) as $u }
            #[inline(always)]
            fn ceil_div_unsigned(self, b: Self) -> Self { Int::ceil_div(self, b) }
            #[inline(always)]
            fn floor_div_signed(self, b: Self) -> Self { Int::floor_div(self as $i, b as $i) as $u }
            #[inline(always)]
            fn and(self, b: Self) -> Self { self & b }
            #[inline(always)]
            fn or(self, b: Self) -> Self { self | b }
            #[inline(always)]
            fn xor(self, b: Self) -> Self { self ^ b }
            #[inline(always)]
            fn shl(self, b: Self) -> Self { Int::shl(self, b) }
            #[inline(always)]
            fn shr_signed(self, b: Self) -> Self { Int::shr(self as $i, b as $i) as $u }
            #[inline(always)]
            fn shr_unsigned(self, b: Self) -> Self { Int::shr(self, b) }
            #[inline(always)]
            fn min_signed(self, b: Self) -> Self { (self as $i).min(b as $i) as $u }
            #[inline(always)]
            fn max_signed(self, b: Self) -> Self { (self as $i).max(b as $i) as $u }
            #[inline(always)]
            fn min_unsigned(self, b: Self) -> Self { self.min(b) }
            #[inline(always)]
            fn max_unsigned(self, b: Self) -> Self { self.max(b) }
            #[inline(always)]
            fn abs_signed(self) -> Self { (self as $i).wrapping_abs() as $u }
            #[inline(always)]
            fn count_ones(self) -> Self { <$u>::count_ones(self) as $u }
            #[inline(always)]
            fn leading_zeros(self) -> Self { <$u>::leading_zeros(self) as $u }
            #[inline(always)]
            fn trailing_zeros(self) -> Self { <$u>::trailing_zeros(self) as $u }
            #[inline(always)]
            fn less_signed(self, b: Self) -> bool { (self as $i) < (b as $i) }
            #[inline(always)]
            fn less_unsigned(self, b: Self) -> bool { self < b }
            #[inline(always)]
            fn is_faulty_signed(self, b: Self) -> bool { b == 0 || (self as $i == <$i>::MIN && b as $i == -1) }
        }
    )*};
}

signless! {
    u8 as i8;
    u16 as i16;
    u32 as i32;
    u64 as i64;
}

/// One-bit integers: arithmetic modulo 2; as a signed number, true is -1.
impl Signless for Bool {
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Bool(self.0 ^ b.0)
    }
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Bool(self.0 ^ b.0)
    }
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        Bool(self.0 & b.0)
    }
    fn mul_high_unsigned(self, _: Self) -> Self {
        Bool(0)
    }
    fn div_signed(self, b: Self) -> Self {
        self.div_unsigned(b)
    }
    fn div_unsigned(self, b: Self) -> Self {
        // x / 1 = x; x / 0 is all ones, as for the wider types.
        Bool(self.0 | (b.0 ^ 1))
    }
    fn rem_signed(self, b: Self) -> Self {
        self.rem_unsigned(b)
    }
    fn rem_unsigned(self, b: Self) -> Self {
        Bool(b.0 ^ 1)
    }
    fn ceil_div_signed(self, b: Self) -> Self {
        self.div_unsigned(b)
    }
    fn ceil_div_unsigned(self, b: Self) -> Self {
        self.div_unsigned(b)
    }
    fn floor_div_signed(self, b: Self) -> Self {
        self.div_unsigned(b)
    }
    #[inline(always)]
    fn and(self, b: Self) -> Self {
        Bool(self.0 & b.0)
    }
    #[inline(always)]
    fn or(self, b: Self) -> Self {
        Bool(self.0 | b.0)
    }
    #[inline(always)]
    fn xor(self, b: Self) -> Self {
        Bool(self.0 ^ b.0)
    }
    fn shl(self, b: Self) -> Self {
        Bool(self.0 & (b.0 ^ 1))
    }
    fn shr_signed(self, _: Self) -> Self {
        self
    }
    fn shr_unsigned(self, b: Self) -> Self {
        Bool(self.0 & (b.0 ^ 1))
    }
    #[inline(always)]
    fn min_signed(self, b: Self) -> Self {
        Bool(self.0 | b.0)
    }
    #[inline(always)]
    fn max_signed(self, b: Self) -> Self {
        Bool(self.0 & b.0)
    }
    #[inline(always)]
    fn min_unsigned(self, b: Self) -> Self {
        Bool(self.0 & b.0)
    }
    #[inline(always)]
    fn max_unsigned(self, b: Self) -> Self {
        Bool(self.0 | b.0)
    }
    fn abs_signed(self) -> Self {
        self
    }
    fn count_ones(self) -> Self {
        self
    }
    fn leading_zeros(self) -> Self {
        Bool(self.0 ^ 1)
    }
    fn trailing_zeros(self) -> Self {
        Bool(self.0 ^ 1)
    }
    #[inline(always)]
    fn less_signed(self, b: Self) -> bool {
        self.0 > b.0
    }
    #[inline(always)]
    fn less_unsigned(self, b: Self) -> bool {
        self.0 < b.0
    }
    #[inline(always)]
    fn is_faulty_signed(self, b: Self) -> bool {
        b.0 == 0 || self.0 == 1
    }
}

/// A loop over two operands, of which one at least is dense.
struct Map2<'a, A, B, R, F> {
    a: Tile<'a, A>,
    b: Tile<'a, B>,
    out: &'a mut [R],
    f: F,
}

impl<A: Lane, B: Lane, R: Lane, F: Fn(A, B) -> R> FlatLoop for Map2<'_, A, B, R, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Map2 { a, b, out, f } = self;
        match (a, b) {
            (Tile::Dense(a), Tile::Uniform(b)) => out.iter_mut().zip(a).for_each(|(r, &a)| *r = f(a, b)),
            (Tile::Uniform(a), Tile::Dense(b)) => out.iter_mut().zip(b).for_each(|(r, &b)| *r = f(a, b)),
            (Tile::Dense(a), Tile::Dense(b)) => {
                out.iter_mut()
                    .zip(a.iter().zip(b))
                    .for_each(|(r, (&a, &b))| *r = f(a, b));
            }
            (Tile::Uniform(a), Tile::Uniform(b)) => out.fill(f(a, b)),
        }
    }
}

/// A loop over three operands.
struct Map3<'a, A, B, C, R, F> {
    a: Tile<'a, A>,
    b: Tile<'a, B>,
    c: Tile<'a, C>,
    out: &'a mut [R],
    f: F,
}

impl<A: Lane, B: Lane, C: Lane, R: Lane, F: Fn(A, B, C) -> R> FlatLoop for Map3<'_, A, B, C, R, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Map3 { a, b, c, out, f } = self;
        match (a, b, c) {
            (Tile::Dense(a), Tile::Dense(b), Tile::Dense(c)) => {
                out.iter_mut()
                    .zip(a.iter().zip(b).zip(c))
                    .for_each(|(r, ((&a, &b), &c))| *r = f(a, b, c));
            }
            (Tile::Dense(a), Tile::Dense(b), Tile::Uniform(c)) => {
                out.iter_mut()
                    .zip(a.iter().zip(b))
                    .for_each(|(r, (&a, &b))| *r = f(a, b, c));
            }
            (a, b, c) => {
                out.iter_mut()
                    .enumerate()
                    .for_each(|(i, r)| *r = f(a.lane(i), b.lane(i), c.lane(i)));
            }
        }
    }
}

/// `out[i] = f(a[i])`, compiled for the least CPU.
#[inline(always)]
pub fn map1_plain<A: Lane, R: Lane>(frame: &mut Frame, a: Slot, out: Slot, lanes: usize, f: impl Fn(A) -> R) {
    match frame.tile::<A>(a, lanes) {
        Tile::Uniform(x) => frame.set_uniform(out, f(x).to_bits()),
        Tile::Dense(_) => {
            let mut buffer = frame.take::<R>(out, lanes);
            if let Tile::Dense(a) = frame.tile::<A>(a, lanes) {
                buffer
                    .lanes::<R>(lanes)
                    .iter_mut()
                    .zip(a)
                    .for_each(|(r, &a)| *r = f(a));
            }
            frame.put(out, buffer);
        }
    }
}

/// `out[i] = f(a[i], b[i])`.
#[inline(always)]
pub fn map2<A: Lane, B: Lane, R: Lane>(
    cpu: Cpu,
    frame: &mut Frame,
    [a, b]: [Slot; 2],
    out: Slot,
    lanes: usize,
    f: impl Fn(A, B) -> R,
) {
    if let (Tile::Uniform(x), Tile::Uniform(y)) = (frame.tile::<A>(a, lanes), frame.tile::<B>(b, lanes)) {
        frame.set_uniform(out, f(x, y).to_bits());
        return;
    }
    let mut buffer = frame.take::<R>(out, lanes);
    let (a, b) = (frame.tile::<A>(a, lanes), frame.tile::<B>(b, lanes));
    cpu.run(Map2 {
        a,
        b,
        out: buffer.lanes::<R>(lanes),
        f,
    });
    frame.put(out, buffer);
}

/// `out[i] = f(a[i], b[i], c[i])`.
#[inline(always)]
pub fn map3<A: Lane, B: Lane, C: Lane, R: Lane>(
    cpu: Cpu,
    frame: &mut Frame,
    [a, b, c]: [Slot; 3],
    out: Slot,
    lanes: usize,
    f: impl Fn(A, B, C) -> R,
) {
    let (x, y, z) = (
        frame.tile::<A>(a, lanes),
        frame.tile::<B>(b, lanes),
        frame.tile::<C>(c, lanes),
    );
    if let (Tile::Uniform(x), Tile::Uniform(y), Tile::Uniform(z)) = (x, y, z) {
        frame.set_uniform(out, f(x, y, z).to_bits());
        return;
    }
    let mut buffer = frame.take::<R>(out, lanes);
    let (a, b, c) = (
        frame.tile::<A>(a, lanes),
        frame.tile::<B>(b, lanes),
        frame.tile::<C>(c, lanes),
    );
    cpu.run(Map3 {
        a,
        b,
        c,
        out: buffer.lanes::<R>(lanes),
        f,
    });
    frame.put(out, buffer);
}

/// The loop of an element-wise operation: operands' lanes to the result's. All slices have its length.
pub type Loop<T> = fn(Cpu, &[Tile<'_, T>], &mut [T]);

/// An element-wise operation on lanes of some kind.
#[derive(Debug, Clone, Copy)]
pub enum Elementwise {
    /// On truth values.
    Bool(Loop<Bool>),
    /// On 8-bit integers.
    I8(Loop<u8>),
    /// On 16-bit integers.
    I16(Loop<u16>),
    /// On 32-bit integers.
    I32(Loop<u32>),
    /// On 64-bit integers.
    I64(Loop<u64>),
    /// On f32.
    F32(Loop<f32>),
    /// On f64.
    F64(Loop<f64>),
    /// On f16, where rounding the f32 result once more would round twice or lose a NaN's bits.
    F16(Loop<F16>),
    /// The same on bf16.
    Bf16(Loop<Bf16>),
    /// On a narrow float kind, widened to f32 and rounded once.
    Widened(Kind, Loop<f32>),
}

impl Elementwise {
    /// Applies the operation.
    #[inline]
    pub fn apply(self, cpu: Cpu, frame: &mut Frame, ins: &[Slot], out: Slot, lanes: usize) {
        match self {
            Elementwise::Bool(each) => apply(each, cpu, frame, ins, out, lanes),
            Elementwise::I8(each) => apply(each, cpu, frame, ins, out, lanes),
            Elementwise::I16(each) => apply(each, cpu, frame, ins, out, lanes),
            Elementwise::I32(each) => apply(each, cpu, frame, ins, out, lanes),
            Elementwise::I64(each) => apply(each, cpu, frame, ins, out, lanes),
            Elementwise::F32(each) => apply(each, cpu, frame, ins, out, lanes),
            Elementwise::F64(each) => apply(each, cpu, frame, ins, out, lanes),
            Elementwise::F16(each) => apply(each, cpu, frame, ins, out, lanes),
            Elementwise::Bf16(each) => apply(each, cpu, frame, ins, out, lanes),
            Elementwise::Widened(Kind::F16, each) => widened::<F16>(each, cpu, frame, ins, out, lanes),
            Elementwise::Widened(Kind::Bf16, each) => widened::<Bf16>(each, cpu, frame, ins, out, lanes),
            Elementwise::Widened(Kind::F8E4M3, each) => widened::<F8E4M3>(each, cpu, frame, ins, out, lanes),
            Elementwise::Widened(_, each) => widened::<F8E5M2>(each, cpu, frame, ins, out, lanes),
        }
    }
}

/// Most operands of an element-wise operation.
const OPERANDS: usize = 3;

fn tiles<'f, T: Lane>(frame: &'f Frame, ins: &[Slot], lanes: usize) -> [Tile<'f, T>; OPERANDS] {
    let mut tiles = [Tile::Uniform(T::from_bits(0)); OPERANDS];
    for (tile, &slot) in tiles.iter_mut().zip(ins) {
        *tile = frame.tile::<T>(slot, lanes);
    }
    tiles
}

fn apply<T: Lane>(each: Loop<T>, cpu: Cpu, frame: &mut Frame, ins: &[Slot], out: Slot, lanes: usize) {
    if ins.iter().all(|&slot| frame.uniform(slot).is_some()) {
        let mut result = [T::from_bits(0)];
        each(cpu, &tiles(frame, ins, 1)[..ins.len()], &mut result);
        frame.set_uniform(out, result[0].to_bits());
        return;
    }
    let mut buffer = frame.take::<T>(out, lanes);
    each(
        cpu,
        &tiles(frame, ins, lanes)[..ins.len()],
        buffer.lanes::<T>(lanes),
    );
    frame.put(out, buffer);
}

/// Lanes that are done between requests for more lines.
const STRIP: usize = 512;

/// The same on f32, asking for `lines` lines of what is expected to be read after each strip of lanes.
pub fn apply_and_fetch(
    each: Loop<f32>,
    lines: usize,
    cpu: Cpu,
    frame: &mut Frame,
    ins: &[Slot],
    out: Slot,
    lanes: usize,
) {
    if frame.ahead.is_empty() || ins.iter().all(|&slot| frame.uniform(slot).is_some()) {
        apply(each, cpu, frame, ins, out, lanes);
        return;
    }
    let mut ahead = std::mem::take(&mut frame.ahead);
    let mut buffer = frame.take::<f32>(out, lanes);
    let whole = tiles::<f32>(frame, ins, lanes);
    for (i, part) in buffer.lanes::<f32>(lanes).chunks_mut(STRIP).enumerate() {
        let strip = whole.map(|tile| match tile {
            Tile::Uniform(x) => Tile::Uniform(x),
            Tile::Dense(x) => Tile::Dense(&x[i * STRIP..i * STRIP + part.len()]),
        });
        each(cpu, &strip[..ins.len()], part);
        ahead.pull(lines);
    }
    frame.put(out, buffer);
    frame.ahead = ahead;
}

/// Lanes that are widened at once: four arrays of f32 stay in the first-level cache.
const BLOCK: usize = 512;

fn widened<T: Lane + StoredFloat>(
    each: Loop<f32>,
    cpu: Cpu,
    frame: &mut Frame,
    ins: &[Slot],
    out: Slot,
    lanes: usize,
) {
    if ins.iter().all(|&slot| frame.uniform(slot).is_some()) {
        let wide = tiles::<T>(frame, ins, 1).map(|tile| Tile::Uniform(tile.lane(0).to_f32()));
        let mut result = [0.0];
        each(cpu, &wide[..ins.len()], &mut result);
        frame.set_uniform(out, T::from_f32(result[0]).to_bits());
        return;
    }
    let mut buffer = frame.take::<T>(out, lanes);
    let narrow = tiles::<T>(frame, ins, lanes);
    let mut wide = [[0.0f32; BLOCK]; OPERANDS];
    let mut result = [0.0f32; BLOCK];
    for (b, part) in buffer.lanes::<T>(lanes).chunks_mut(BLOCK).enumerate() {
        let len = part.len();
        let mut operands = [Tile::Uniform(0.0f32); OPERANDS];
        for ((operand, tile), space) in operands.iter_mut().zip(&narrow[..ins.len()]).zip(&mut wide) {
            *operand = match tile {
                Tile::Uniform(x) => Tile::Uniform(x.to_f32()),
                Tile::Dense(x) => {
                    T::widen_slice(cpu, &x[b * BLOCK..b * BLOCK + len], &mut space[..len]);
                    Tile::Dense(&space[..len])
                }
            };
        }
        each(cpu, &operands[..ins.len()], &mut result[..len]);
        T::narrow_slice(cpu, &result[..len], part);
    }
    frame.put(out, buffer);
}

/// Operands, result and lane function of a loop.
struct Each<'a, T, F> {
    ins: &'a [Tile<'a, T>],
    out: &'a mut [T],
    f: F,
}

/// One operand.
struct Each1<'a, T, F>(Each<'a, T, F>);
/// Two operands.
struct Each2<'a, T, F>(Each<'a, T, F>);
/// Three operands.
struct Each3<'a, T, F>(Each<'a, T, F>);

impl<T: Lane, F: Fn(T) -> T> FlatLoop for Each1<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Each { ins, out, f } = self.0;
        match ins {
            [Tile::Dense(x), ..] => out.iter_mut().zip(*x).for_each(|(r, &x)| *r = f(x)),
            [Tile::Uniform(x), ..] => out.fill(f(*x)),
            [] => {}
        }
    }
}

impl<T: Lane, F: Fn(T, T) -> T> FlatLoop for Each2<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Each { ins, out, f } = self.0;
        match ins {
            [Tile::Dense(x), Tile::Dense(y), ..] => {
                out.iter_mut()
                    .zip(x.iter().zip(*y))
                    .for_each(|(r, (&x, &y))| *r = f(x, y));
            }
            [Tile::Dense(x), Tile::Uniform(y), ..] => {
                out.iter_mut().zip(*x).for_each(|(r, &x)| *r = f(x, *y))
            }
            [Tile::Uniform(x), Tile::Dense(y), ..] => {
                out.iter_mut().zip(*y).for_each(|(r, &y)| *r = f(*x, y))
            }
            [Tile::Uniform(x), Tile::Uniform(y), ..] => out.fill(f(*x, *y)),
            _ => {}
        }
    }
}

impl<T: Lane, F: Fn(T, T, T) -> T> FlatLoop for Each3<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Each { ins, out, f } = self.0;
        match ins {
            [Tile::Dense(x), Tile::Dense(y), Tile::Dense(z)] => {
                let rows = x.iter().zip(*y).zip(*z);
                out.iter_mut()
                    .zip(rows)
                    .for_each(|(r, ((&x, &y), &z))| *r = f(x, y, z));
            }
            [x, y, z] => out
                .iter_mut()
                .enumerate()
                .for_each(|(i, r)| *r = f(x.lane(i), y.lane(i), z.lane(i))),
            _ => {}
        }
    }
}

macro_rules! each {
    (int1 $code:ident ($a:ident) $lane:expr, $kind:expr) => {{
        fn each<T: Signless>(cpu: Cpu, ins: &[Tile<'_, T>], out: &mut [T]) {
            cpu.run(Each1(Each { ins, out, f: |$a: T| -> T { $lane } }));
        }
        each!(@ints $kind)
    }};
    (int2 $code:ident ($a:ident, $b:ident) $lane:expr, $kind:expr) => {{
        fn each<T: Signless>(cpu: Cpu, ins: &[Tile<'_, T>], out: &mut [T]) {
            cpu.run(Each2(Each { ins, out, f: |$a: T, $b: T| -> T { $lane } }));
        }
        each!(@ints $kind)
    }};
    (float1 $code:ident ($a:ident) $lane:expr, $kind:expr) => {{
        fn each<T: Lane + Arithmetic + Elementary>(cpu: Cpu, ins: &[Tile<'_, T>], out: &mut [T]) {
            cpu.run(Each1(Each { ins, out, f: |$a: T| -> T { $lane } }));
        }
        each!(@floats $code $kind)
    }};
    (float2 $code:ident ($a:ident, $b:ident) $lane:expr, $kind:expr) => {{
        fn each<T: Lane + Arithmetic + Elementary>(cpu: Cpu, ins: &[Tile<'_, T>], out: &mut [T]) {
            cpu.run(Each2(Each { ins, out, f: |$a: T, $b: T| -> T { $lane } }));
        }
        each!(@floats $code $kind)
    }};
    (float3 $code:ident ($a:ident, $b:ident, $c:ident) $lane:expr, $kind:expr) => {{
        fn each<T: Lane + Arithmetic + Elementary>(cpu: Cpu, ins: &[Tile<'_, T>], out: &mut [T]) {
            cpu.run(Each3(Each { ins, out, f: |$a: T, $b: T, $c: T| -> T { $lane } }));
        }
        each!(@floats $code $kind)
    }};
    (@ints $kind:expr) => {
        match $kind {
            Kind::Bool => Some(Elementwise::Bool(each::<Bool>)),
            Kind::I8 => Some(Elementwise::I8(each::<u8>)),
            Kind::I16 => Some(Elementwise::I16(each::<u16>)),
            Kind::I32 => Some(Elementwise::I32(each::<u32>)),
            Kind::I64 => Some(Elementwise::I64(each::<u64>)),
            _ => None,
        }
    };
    // Rounded in the type itself: f32 would be a first rounding (products and quotients of bf16, every
    // fused multiply-add), or bits of a NaN are to be kept.
    (@floats MulF $kind:expr) => { each!(@exact $kind) };
    (@floats DivF $kind:expr) => { each!(@exact $kind) };
    (@floats ApproxDivF $kind:expr) => { each!(@exact $kind) };
    (@floats PreciseDivF $kind:expr) => { each!(@exact $kind) };
    (@floats Fma $kind:expr) => { each!(@exact $kind) };
    (@floats NegF $kind:expr) => { each!(@exact $kind) };
    (@floats AbsF $kind:expr) => { each!(@exact $kind) };
    (@floats CopySign $kind:expr) => { each!(@exact $kind) };
    (@floats $code:ident $kind:expr) => {
        match $kind {
            Kind::F16 | Kind::Bf16 | Kind::F8E4M3 | Kind::F8E5M2 => Some(Elementwise::Widened($kind, each::<f32>)),
            Kind::F32 => Some(Elementwise::F32(each::<f32>)),
            Kind::F64 => Some(Elementwise::F64(each::<f64>)),
            _ => None,
        }
    };
    (@exact $kind:expr) => {
        match $kind {
            Kind::F16 => Some(Elementwise::F16(each::<F16>)),
            Kind::Bf16 => Some(Elementwise::Bf16(each::<Bf16>)),
            Kind::F32 => Some(Elementwise::F32(each::<f32>)),
            Kind::F64 => Some(Elementwise::F64(each::<f64>)),
            _ => None,
        }
    };
}

/// Faster loops, with the same bits, of operations on f32.
fn by_hand(code: OpCode) -> Option<Loop<f32>> {
    macro_rules! unary {
        ($slice:path, $lane:path) => {
            |cpu, ins, out| match ins {
                [Tile::Dense(x), ..] => $slice(cpu, x, out),
                [Tile::Uniform(x), ..] => out.fill($lane(*x)),
                [] => {}
            }
        };
    }
    match code {
        OpCode::Exp => Some(unary!(exp_slice, Elementary::exp)),
        OpCode::Exp2 => Some(unary!(exp2_slice, Elementary::exp2)),
        OpCode::Erf => Some(unary!(erf_slice, Elementary::erf)),
        _ => None,
    }
}

macro_rules! elementwise {
    (
        elementwise { $($variant:ident $mnemonic:literal $class:ident ($($arg:ident),*) $lane:expr, $cuda:literal, $doc:literal;)* }
        structured { $($structured:tt)* }
    ) => {
        /// The loop of an element-wise operation on lanes of a kind; none where the operation is not
        /// defined for it (fp8 does not multiply), or is not element-wise.
        pub fn elementwise(code: OpCode, kind: Kind) -> Option<Elementwise> {
            let each = match code {
                $(OpCode::$variant => each!($class $variant ($($arg),*) $lane, kind),)*
                _ => None,
            };
            match (each, by_hand(code)) {
                (Some(Elementwise::F32(_)), Some(by_hand)) => Some(Elementwise::F32(by_hand)),
                (Some(Elementwise::Widened(kind, _)), Some(by_hand)) => Some(Elementwise::Widened(kind, by_hand)),
                (each, _) => each,
            }
        }
    };
}

tilescope_ir::op_table!(elementwise);
