//! Lane functions of the element-wise operations, made from the op table, and the flat loops that
//! apply them to tiles.

use crate::frame::{Frame, Slot, Tile};
use crate::kind::{Bool, Kind, Lane};
use crate::num::float::{Bf16, F8E4M3, F8E5M2, F16};
use crate::num::int::Int;
use crate::num::math::{Arithmetic, Elementary};
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

/// `out[i] = f(a[i])`.
#[inline(always)]
pub fn map1<A: Lane, R: Lane>(frame: &mut Frame, a: Slot, out: Slot, lanes: usize, f: impl Fn(A) -> R) {
    if let Tile::Uniform(x) = frame.tile::<A>(a, lanes) {
        frame.set_uniform(out, f(x).to_bits());
        return;
    }
    let mut buffer = frame.take::<R>(out, lanes);
    let result = buffer.lanes::<R>(lanes);
    if let Tile::Dense(x) = frame.tile::<A>(a, lanes) {
        for (r, &x) in result.iter_mut().zip(x) {
            *r = f(x);
        }
    }
    frame.put(out, buffer);
}

/// `out[i] = f(a[i], b[i])`.
#[inline(always)]
pub fn map2<A: Lane, B: Lane, R: Lane>(
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
    let result = buffer.lanes::<R>(lanes);
    match (frame.tile::<A>(a, lanes), frame.tile::<B>(b, lanes)) {
        (Tile::Dense(x), Tile::Dense(y)) => {
            for (r, (&x, &y)) in result.iter_mut().zip(x.iter().zip(y)) {
                *r = f(x, y);
            }
        }
        (Tile::Dense(x), Tile::Uniform(y)) => {
            for (r, &x) in result.iter_mut().zip(x) {
                *r = f(x, y);
            }
        }
        (Tile::Uniform(x), Tile::Dense(y)) => {
            for (r, &y) in result.iter_mut().zip(y) {
                *r = f(x, y);
            }
        }
        (Tile::Uniform(x), Tile::Uniform(y)) => result.fill(f(x, y)),
    }
    frame.put(out, buffer);
}

/// `out[i] = f(a[i], b[i], c[i])`.
#[inline(always)]
pub fn map3<A: Lane, B: Lane, C: Lane, R: Lane>(
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
    let result = buffer.lanes::<R>(lanes);
    let (x, y, z) = (
        frame.tile::<A>(a, lanes),
        frame.tile::<B>(b, lanes),
        frame.tile::<C>(c, lanes),
    );
    match (x, y, z) {
        (Tile::Dense(x), Tile::Dense(y), Tile::Dense(z)) => {
            for (r, ((&x, &y), &z)) in result.iter_mut().zip(x.iter().zip(y).zip(z)) {
                *r = f(x, y, z);
            }
        }
        (Tile::Dense(x), Tile::Dense(y), Tile::Uniform(z)) => {
            for (r, (&x, &y)) in result.iter_mut().zip(x.iter().zip(y)) {
                *r = f(x, y, z);
            }
        }
        (Tile::Dense(x), Tile::Uniform(y), Tile::Uniform(z)) => {
            for (r, &x) in result.iter_mut().zip(x) {
                *r = f(x, y, z);
            }
        }
        (x, y, z) => {
            for (i, r) in result.iter_mut().enumerate() {
                *r = f(x.lane(i), y.lane(i), z.lane(i));
            }
        }
    }
    frame.put(out, buffer);
}

/// Applies an element-wise operation: operands, result, lanes.
pub type Apply = fn(&mut Frame, &[Slot], Slot, usize);

/// Combines two lanes into one, in place: `acc[i] = f(acc[i], x[i])`. For reductions.
pub type Accumulate = fn(&mut Frame, acc: Slot, x: Slot, lanes: usize);

macro_rules! apply {
    (int1 ($a:ident) $lane:expr, $kind:expr) => {{
        fn apply<T: Signless>(frame: &mut Frame, ins: &[Slot], out: Slot, lanes: usize) {
            map1(frame, ins[0], out, lanes, |$a: T| -> T { $lane });
        }
        apply!(@ints $kind)
    }};
    (int2 ($a:ident, $b:ident) $lane:expr, $kind:expr) => {{
        fn apply<T: Signless>(frame: &mut Frame, ins: &[Slot], out: Slot, lanes: usize) {
            map2(frame, [ins[0], ins[1]], out, lanes, |$a: T, $b: T| -> T { $lane });
        }
        apply!(@ints $kind)
    }};
    (float1 ($a:ident) $lane:expr, $kind:expr) => {{
        fn apply<T: Lane + Arithmetic + Elementary>(frame: &mut Frame, ins: &[Slot], out: Slot, lanes: usize) {
            map1(frame, ins[0], out, lanes, |$a: T| -> T { $lane });
        }
        apply!(@floats $kind)
    }};
    (float2 ($a:ident, $b:ident) $lane:expr, $kind:expr) => {{
        fn apply<T: Lane + Arithmetic + Elementary>(frame: &mut Frame, ins: &[Slot], out: Slot, lanes: usize) {
            map2(frame, [ins[0], ins[1]], out, lanes, |$a: T, $b: T| -> T { $lane });
        }
        apply!(@floats $kind)
    }};
    (float3 ($a:ident, $b:ident, $c:ident) $lane:expr, $kind:expr) => {{
        fn apply<T: Lane + Arithmetic + Elementary>(frame: &mut Frame, ins: &[Slot], out: Slot, lanes: usize) {
            map3(frame, [ins[0], ins[1], ins[2]], out, lanes, |$a: T, $b: T, $c: T| -> T { $lane });
        }
        apply!(@floats $kind)
    }};
    (@ints $kind:expr) => {
        match $kind {
            Kind::Bool => Some(apply::<Bool> as Apply),
            Kind::I8 => Some(apply::<u8> as Apply),
            Kind::I16 => Some(apply::<u16> as Apply),
            Kind::I32 => Some(apply::<u32> as Apply),
            Kind::I64 => Some(apply::<u64> as Apply),
            _ => None,
        }
    };
    (@floats $kind:expr) => {
        match $kind {
            Kind::F8E4M3 => Some(apply::<F8E4M3> as Apply),
            Kind::F8E5M2 => Some(apply::<F8E5M2> as Apply),
            Kind::F16 => Some(apply::<F16> as Apply),
            Kind::Bf16 => Some(apply::<Bf16> as Apply),
            Kind::F32 => Some(apply::<f32> as Apply),
            Kind::F64 => Some(apply::<f64> as Apply),
            _ => None,
        }
    };
}

macro_rules! elementwise {
    (
        elementwise { $($variant:ident $mnemonic:literal $class:ident ($($arg:ident),*) $lane:expr, $cuda:literal, $doc:literal;)* }
        structured { $($structured:tt)* }
    ) => {
        /// The loop of an element-wise operation on lanes of a kind; none where the operation is not
        /// defined for it, or is not element-wise.
        pub fn elementwise(code: OpCode, kind: Kind) -> Option<Apply> {
            match code {
                $(OpCode::$variant => apply!($class ($($arg),*) $lane, kind),)*
                _ => None,
            }
        }
    };
}

tilescope_ir::op_table!(elementwise);
