//! Integers as the card computes them: nothing traps, everything wraps, and the results that C leaves
//! undefined are those measured on an H200.
//!
//! Signless IR integers are read as `i8 … i64` or `u8 … u64` according to the operation. Where a lane's
//! operands make the result meaningless in other languages, a predicate says so
//! ([`Int::is_faulty_div`], [`Int::is_shift_in_range`], [`FromFloat::in_range`]).
//!
//! | operation | result |
//! |---|---|
//! | `x / 0`, `x % 0` | all ones; 64-bit: `0xffffffff` if the upper half of the dividend is zero (measured signed; unsigned by the same code) |
//! | `MIN / -1`, `MIN % -1` | `MIN`, 0 |
//! | division, remainder | truncated: the remainder has the sign of the dividend |
//! | `x << n`, `n` outside `[0, width)` | 0 |
//! | `x >> n`, `n` outside `[0, width)` | 0, or −1 for a negative signed `x` |
//! | float to integer | truncated, saturated; see [`FromFloat`] |

use bytemuck::Pod;

use super::float::{Bf16, F16, StoredFloat};

/// An integer type of the machine, with the card's operations. All of them wrap.
pub trait Int: Pod + Ord + Send + Sync {
    /// Width in bits.
    const BITS: u32;

    /// `self + rhs`, wrapping.
    fn add(self, rhs: Self) -> Self;
    /// `self - rhs`, wrapping.
    fn sub(self, rhs: Self) -> Self;
    /// `self * rhs`, wrapping: the lower half of the product.
    fn mul(self, rhs: Self) -> Self;
    /// The upper half of the product, signed or unsigned as the type is.
    fn mulhi(self, rhs: Self) -> Self;

    /// Quotient toward zero, with the card's result for a zero divisor and for `MIN / -1`.
    fn div(self, rhs: Self) -> Self;
    /// Remainder of [`div`](Int::div).
    fn rem(self, rhs: Self) -> Self;
    /// Quotient toward positive infinity; a zero divisor as in [`div`](Int::div).
    fn ceil_div(self, rhs: Self) -> Self;
    /// Quotient toward negative infinity; a zero divisor as in [`div`](Int::div).
    fn floor_div(self, rhs: Self) -> Self;
    /// Whether division and remainder have no mathematical result in the type: divisor zero, or `MIN / -1`.
    fn is_faulty_div(self, rhs: Self) -> bool;

    /// `self << amount`; 0 if the amount is outside `[0, BITS)`.
    fn shl(self, amount: Self) -> Self;
    /// `self >> amount`, arithmetic or logical as the type is; all sign bits if the amount is outside
    /// `[0, BITS)`.
    fn shr(self, amount: Self) -> Self;
    /// Whether `self`, as the amount of a shift, is within `[0, BITS)`.
    fn is_shift_in_range(self) -> bool;
}

/// Results that differ between the widths and between signed and unsigned.
trait Faulty: Sized {
    /// What the card returns for `self / 0` and `self % 0`.
    fn by_zero(self) -> Self;
}

macro_rules! all_ones_by_zero {
    ($($t:ty)*) => {$(
        impl Faulty for $t {
            #[inline(always)]
            fn by_zero(self) -> $t {
                !0
            }
        }
    )*};
}
all_ones_by_zero!(i8 i16 i32 u8 u16 u32);

impl Faulty for i64 {
    #[inline(always)]
    fn by_zero(self) -> i64 {
        (self as u64).by_zero() as i64
    }
}

impl Faulty for u64 {
    /// The card divides in 32 bits when both upper halves are zero.
    #[inline(always)]
    fn by_zero(self) -> u64 {
        if self >> 32 == 0 { 0xffff_ffff } else { !0 }
    }
}

/// What signed and unsigned types share. `$wide` holds the product of two, `$u` is the unsigned twin.
macro_rules! shared_ops {
    ($t:ty, $wide:ty, $u:ty) => {
        const BITS: u32 = <$t>::BITS;

        #[inline(always)]
        fn add(self, rhs: $t) -> $t {
            self.wrapping_add(rhs)
        }

        #[inline(always)]
        fn sub(self, rhs: $t) -> $t {
            self.wrapping_sub(rhs)
        }

        #[inline(always)]
        fn mul(self, rhs: $t) -> $t {
            self.wrapping_mul(rhs)
        }

        #[inline(always)]
        fn mulhi(self, rhs: $t) -> $t {
            ((self as $wide * rhs as $wide) >> <$t>::BITS) as $t
        }

        #[inline(always)]
        fn div(self, rhs: $t) -> $t {
            if rhs == 0 {
                self.by_zero()
            } else {
                self.wrapping_div(rhs)
            }
        }

        #[inline(always)]
        fn rem(self, rhs: $t) -> $t {
            if rhs == 0 {
                self.by_zero()
            } else {
                self.wrapping_rem(rhs)
            }
        }

        #[inline(always)]
        fn shl(self, amount: $t) -> $t {
            let n = amount as $u as u32 & (<$t>::BITS - 1);
            if amount.is_shift_in_range() {
                self << n
            } else {
                0
            }
        }

        #[inline(always)]
        fn is_shift_in_range(self) -> bool {
            (self as $u) < <$t>::BITS as $u
        }
    };
}

macro_rules! signed {
    ($t:ty, $wide:ty, $u:ty) => {
        impl Int for $t {
            shared_ops!($t, $wide, $u);

            #[inline(always)]
            fn ceil_div(self, rhs: $t) -> $t {
                let quotient = self.div(rhs);
                let exact = rhs == 0 || self.wrapping_rem(rhs) == 0;
                let up = !exact && (self < 0) == (rhs < 0);
                quotient.wrapping_add(up as $t)
            }

            #[inline(always)]
            fn floor_div(self, rhs: $t) -> $t {
                let quotient = self.div(rhs);
                let exact = rhs == 0 || self.wrapping_rem(rhs) == 0;
                let down = !exact && (self < 0) != (rhs < 0);
                quotient.wrapping_sub(down as $t)
            }

            #[inline(always)]
            fn is_faulty_div(self, rhs: $t) -> bool {
                rhs == 0 || (rhs == -1 && self == <$t>::MIN)
            }

            #[inline(always)]
            fn shr(self, amount: $t) -> $t {
                let n = if amount.is_shift_in_range() {
                    amount as u32
                } else {
                    <$t>::BITS - 1
                };
                self >> n
            }
        }
    };
}
signed!(i8, i16, u8);
signed!(i16, i32, u16);
signed!(i32, i64, u32);
signed!(i64, i128, u64);

macro_rules! unsigned {
    ($t:ty, $wide:ty) => {
        impl Int for $t {
            shared_ops!($t, $wide, $t);

            #[inline(always)]
            fn ceil_div(self, rhs: $t) -> $t {
                let inexact = rhs != 0 && !self.is_multiple_of(rhs);
                self.div(rhs).wrapping_add(inexact as $t)
            }

            #[inline(always)]
            fn floor_div(self, rhs: $t) -> $t {
                self.div(rhs)
            }

            #[inline(always)]
            fn is_faulty_div(self, rhs: $t) -> bool {
                rhs == 0
            }

            #[inline(always)]
            fn shr(self, amount: $t) -> $t {
                let n = amount as u32 & (<$t>::BITS - 1);
                if amount.is_shift_in_range() {
                    self >> n
                } else {
                    0
                }
            }
        }
    };
}
unsigned!(u8, u16);
unsigned!(u16, u32);
unsigned!(u32, u64);
unsigned!(u64, u128);

/// Float to integer, truncated toward zero, as the card converts. f16, bf16 and fp8 convert by way of f32,
/// which holds them exactly.
///
/// Out of range saturates; 8-bit targets take the low byte of the saturated 16-bit result (so 300 becomes
/// 44 and −1 becomes 0 as `u8`). NaN:
///
/// | target | from f32 and narrower | from f64 |
/// |---|---|---|
/// | `i8`, `u8` | 0 | 0 |
/// | `i16` | 0 | −2^15 |
/// | `u16` | 0 | 2^15 (not measured: as `u32`) |
/// | `i32` | 0 | −2^31 |
/// | `u32` | 0 | 2^31 |
/// | `i64` | −2^63 | −2^63 |
/// | `u64` | 2^63 | 2^63 |
pub trait FromFloat: Int {
    /// Converts an f32.
    fn from_f32(x: f32) -> Self;
    /// Converts an f64.
    fn from_f64(x: f64) -> Self;
    /// Whether `x`, truncated, is a value of the type. A NaN is not. (An f32 converts to f64 exactly.)
    fn in_range(x: f64) -> bool;
}

macro_rules! from_float {
    // `nan32`, `nan64`: what a NaN becomes; `below`, `above`: the open interval of values in range.
    ($t:ty, nan32: $nan32:expr, nan64: $nan64:expr, below: $below:expr, above: $above:expr) => {
        impl FromFloat for $t {
            #[inline(always)]
            fn from_f32(x: f32) -> $t {
                if x.is_nan() { $nan32 } else { x as $t }
            }

            #[inline(always)]
            fn from_f64(x: f64) -> $t {
                if x.is_nan() { $nan64 } else { x as $t }
            }

            #[inline(always)]
            fn in_range(x: f64) -> bool {
                x > $below && x < $above
            }
        }
    };
    // The low byte of a wider conversion.
    ($t:ty, low_byte_of: $wide:ty, below: $below:expr, above: $above:expr) => {
        impl FromFloat for $t {
            #[inline(always)]
            fn from_f32(x: f32) -> $t {
                (x as $wide) as $t
            }

            #[inline(always)]
            fn from_f64(x: f64) -> $t {
                (x as $wide) as $t
            }

            #[inline(always)]
            fn in_range(x: f64) -> bool {
                x > $below && x < $above
            }
        }
    };
}
from_float!(i8, low_byte_of: i16, below: -129.0, above: 128.0);
from_float!(u8, low_byte_of: u16, below: -1.0, above: 256.0);
from_float!(i16, nan32: 0, nan64: i16::MIN, below: -32769.0, above: 32768.0);
from_float!(u16, nan32: 0, nan64: 1 << 15, below: -1.0, above: 65536.0);
from_float!(i32, nan32: 0, nan64: i32::MIN, below: -2147483649.0, above: 2147483648.0);
from_float!(u32, nan32: 0, nan64: 1 << 31, below: -1.0, above: 4294967296.0);
// The f64 just below -2^63 is -2^63 - 2^11.
from_float!(i64, nan32: i64::MIN, nan64: i64::MIN, below: -9223372036854777856.0, above: 9223372036854775808.0);
from_float!(u64, nan32: 1 << 63, nan64: 1 << 63, below: -1.0, above: 18446744073709551616.0);

/// Integer to float, rounded once to nearest even, also to the narrow formats.
pub trait ToFloat: Int {
    /// To f64.
    fn to_f64(self) -> f64;
    /// To f32.
    fn to_f32(self) -> f32;

    /// An f64 that rounds to the same value as the integer in every format of at most 51 mantissa bits.
    fn to_f64_sticky(self) -> f64;

    /// To a storage format; overflow as the format has it.
    #[inline(always)]
    fn to_stored<T: StoredFloat>(self) -> T {
        T::from_f64(self.to_f64_sticky())
    }

    /// To f16: overflow gives infinity.
    #[inline(always)]
    fn to_f16(self) -> F16 {
        self.to_stored()
    }

    /// To bf16.
    #[inline(always)]
    fn to_bf16(self) -> Bf16 {
        self.to_stored()
    }
}

macro_rules! to_float {
    ($($t:ty)*) => {$(
        impl ToFloat for $t {
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }

            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }

            #[inline(always)]
            fn to_f64_sticky(self) -> f64 {
                self as f64
            }
        }
    )*};
}
to_float!(i8 i16 i32 u8 u16 u32);

/// Lower bits that an f64 of a large 64-bit integer cannot hold.
const LOST: u64 = (1 << 11) - 1;

impl ToFloat for u64 {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self as f64
    }

    #[inline(always)]
    fn to_f32(self) -> f32 {
        self as f32
    }

    #[inline(always)]
    fn to_f64_sticky(self) -> f64 {
        // Any lost bit is kept as one odd bit, so that a later rounding sees no false tie.
        let odd = (self & !LOST) | (u64::from(self & LOST != 0) << 11);
        (if self >> 53 == 0 { self } else { odd }) as f64
    }
}

impl ToFloat for i64 {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self as f64
    }

    #[inline(always)]
    fn to_f32(self) -> f32 {
        self as f32
    }

    #[inline(always)]
    fn to_f64_sticky(self) -> f64 {
        let magnitude = self.unsigned_abs().to_f64_sticky();
        if self < 0 { -magnitude } else { magnitude }
    }
}
