//! Float arithmetic and elementary functions of every float type, lane by lane.
//!
//! - [`Arithmetic`] is correctly rounded in its own type. f32 and f64 use the machine's operations; the
//!   narrow types compute in f32, or in f64 where f32 would round twice (bf16 products and quotients near
//!   the smallest values, every fused multiply-add), and round once.
//! - [`Elementary`] is within 1 ulp for f32 (computed in f32, see `single`, or in f64 and rounded once),
//!   within a few ulp for f64, and for the narrow types the f32 function rounded once more. Subnormals are
//!   kept (but by `floor` and `ceil`).
//!
//! Results have the same bits on every CPU: nothing calls the system's mathematical library. What is not
//! written here comes from the crate `libm`, which is pure Rust. **Beware** that `f32` and `f64` have
//! inherent methods of the same names (`x.exp()`) that do call the system's: call these functions as
//! `Elementary::exp(x)`.
//!
//! NaN: every function here returns the canonical NaN, except those documented to keep bits.

use bytemuck::Pod;

use super::float::{Bf16, Canonical, F8E4M3, F8E5M2, F16, StoredFloat};
use super::{single, vector};
use crate::simd::{self, Cpu, CpuLevel};

/// The correctly rounded operations of a float type.
pub trait Arithmetic: Pod + Send + Sync {
    /// `a + b`.
    fn add(a: Self, b: Self) -> Self;
    /// `a - b`.
    fn sub(a: Self, b: Self) -> Self;
    /// `a * b`.
    fn mul(a: Self, b: Self) -> Self;
    /// `a / b`.
    fn div(a: Self, b: Self) -> Self;
    /// C's `fmod`: exact, with the sign of `a`; `a` if `b` is infinite, NaN if `b` is 0 or `a` infinite.
    fn rem(a: Self, b: Self) -> Self;
    /// `a * b + c`, rounded once.
    fn fma(a: Self, b: Self, c: Self) -> Self;
    /// Square root; −0 of −0, NaN of other negatives.
    fn sqrt(x: Self) -> Self;

    /// Sign flipped, also of a NaN, whose payload is kept.
    fn neg(x: Self) -> Self;
    /// Sign cleared, also of a NaN, whose payload is kept.
    fn abs(x: Self) -> Self;
    /// The magnitude of `x` with the sign of `sign`; keeps a NaN's payload.
    fn copysign(x: Self, sign: Self) -> Self;

    /// `arith.maxnumf`: a NaN operand gives the other. +0 is above −0.
    fn maxnum(a: Self, b: Self) -> Self;
    /// `arith.minnumf`: a NaN operand gives the other. −0 is below +0.
    fn minnum(a: Self, b: Self) -> Self;
    /// `arith.maximumf`: NaN if an operand is. +0 is above −0.
    fn maximum(a: Self, b: Self) -> Self;
    /// `arith.minimumf`: NaN if an operand is. −0 is below +0.
    fn minimum(a: Self, b: Self) -> Self;

    /// `tt.clampf` without NaN propagation: a NaN `x` gives `low`.
    #[inline(always)]
    fn clamp(x: Self, low: Self, high: Self) -> Self {
        Self::minnum(Self::maxnum(x, low), high)
    }

    /// `tt.clampf` with NaN propagation: NaN if `x` is.
    #[inline(always)]
    fn clamp_propagating(x: Self, low: Self, high: Self) -> Self {
        Self::minimum(Self::maximum(x, low), high)
    }

    /// Largest integral value not above `x`. Keeps −0. As on a GPU, an f32 (and a bf16, which goes through f32) that is
    /// subnormal is taken for zero of its sign: Triton writes `cvt.rmi.ftz`, and −1 or −0 is no matter of rounding.
    fn floor(x: Self) -> Self;
    /// Smallest integral value not below `x`. −0 of values in (−1, −0]. Subnormal numbers as in [`floor`](Self::floor).
    fn ceil(x: Self) -> Self;
    /// `x` without its fraction.
    fn trunc(x: Self) -> Self;
    /// Nearest integral value, halves away from zero.
    fn round(x: Self) -> Self;
    /// Nearest integral value, halves to even.
    fn round_even(x: Self) -> Self;
}

/// Operations whose code is the same for f32 and f64.
macro_rules! native_arithmetic {
    ($t:ty, $sign:expr, $remainder:path) => {
        #[inline(always)]
        fn add(a: $t, b: $t) -> $t {
            (a + b).canonical()
        }

        #[inline(always)]
        fn sub(a: $t, b: $t) -> $t {
            (a - b).canonical()
        }

        #[inline(always)]
        fn mul(a: $t, b: $t) -> $t {
            (a * b).canonical()
        }

        #[inline(always)]
        fn div(a: $t, b: $t) -> $t {
            (a / b).canonical()
        }

        #[inline(always)]
        fn rem(a: $t, b: $t) -> $t {
            $remainder(a, b).canonical()
        }

        #[inline(always)]
        fn sqrt(x: $t) -> $t {
            // The plain form, `x.sqrt().canonical()`, is folded by LLVM into the bare instruction, whose
            // NaN is the CPU's: hence the root of the magnitude, which the fold does not know.
            let root = x.abs().sqrt().copysign(x);
            (if x < 0.0 { <$t>::NAN } else { root }).canonical()
        }

        #[inline(always)]
        fn neg(x: $t) -> $t {
            <$t>::from_bits(x.to_bits() ^ $sign)
        }

        #[inline(always)]
        fn abs(x: $t) -> $t {
            <$t>::from_bits(x.to_bits() & !$sign)
        }

        #[inline(always)]
        fn copysign(x: $t, sign: $t) -> $t {
            <$t>::from_bits((x.to_bits() & !$sign) | (sign.to_bits() & $sign))
        }

        #[inline(always)]
        fn maxnum(a: $t, b: $t) -> $t {
            // Equal operands are the same bits, or zeros of two signs: `and` leaves +0.
            let equal = <$t>::from_bits(a.to_bits() & b.to_bits());
            let ordered = if a > b { a } else { equal };
            let ordered = if b > a { b } else { ordered };
            let with_b = if a.is_nan() { b } else { ordered };
            (if b.is_nan() { a } else { with_b }).canonical()
        }

        #[inline(always)]
        fn minnum(a: $t, b: $t) -> $t {
            let equal = <$t>::from_bits(a.to_bits() | b.to_bits());
            let ordered = if a < b { a } else { equal };
            let ordered = if b < a { b } else { ordered };
            let with_b = if a.is_nan() { b } else { ordered };
            (if b.is_nan() { a } else { with_b }).canonical()
        }

        #[inline(always)]
        fn maximum(a: $t, b: $t) -> $t {
            let equal = <$t>::from_bits(a.to_bits() & b.to_bits());
            let ordered = if a > b { a } else { equal };
            let ordered = if b > a { b } else { ordered };
            (if a.is_nan() || b.is_nan() {
                <$t>::NAN
            } else {
                ordered
            })
            .canonical()
        }

        #[inline(always)]
        fn minimum(a: $t, b: $t) -> $t {
            let equal = <$t>::from_bits(a.to_bits() | b.to_bits());
            let ordered = if a < b { a } else { equal };
            let ordered = if b < a { b } else { ordered };
            (if a.is_nan() || b.is_nan() {
                <$t>::NAN
            } else {
                ordered
            })
            .canonical()
        }
    };
}

impl Arithmetic for f32 {
    native_arithmetic!(f32, 0x8000_0000u32, libm::fmodf);

    #[inline(always)]
    fn fma(a: f32, b: f32, c: f32) -> f32 {
        fused(a, b, c).canonical()
    }

    #[inline(always)]
    fn trunc(x: f32) -> f32 {
        trunc_magnitude(x.abs()).copysign(x).canonical()
    }

    #[inline(always)]
    fn floor(x: f32) -> f32 {
        let x = flushed(x);
        let near = round_magnitude(x.abs()).copysign(x);
        let down = if near > x { near - 1.0 } else { near };
        down.copysign(x).canonical()
    }

    #[inline(always)]
    fn ceil(x: f32) -> f32 {
        let x = flushed(x);
        let near = round_magnitude(x.abs()).copysign(x);
        let up = if near < x { near + 1.0 } else { near };
        up.copysign(x).canonical()
    }

    #[inline(always)]
    fn round(x: f32) -> f32 {
        let cut = trunc_magnitude(x.abs());
        let away = if x.abs() - cut >= 0.5 { cut + 1.0 } else { cut };
        away.copysign(x).canonical()
    }

    #[inline(always)]
    fn round_even(x: f32) -> f32 {
        round_magnitude(x.abs()).copysign(x).canonical()
    }
}

/// Zero of the same sign in place of a subnormal number.
#[inline(always)]
fn flushed(x: f32) -> f32 {
    if x.abs() < f32::MIN_POSITIVE {
        0f32.copysign(x)
    } else {
        x
    }
}

/// Nearest integral value, halves to even, of an f32 without sign.
#[inline(always)]
fn round_magnitude(x: f32) -> f32 {
    // From 2^23 on there is no fraction; below, adding 2^23 leaves no bits for one.
    let rounded = (x + 8388608.0) - 8388608.0;
    if x < 8388608.0 { rounded } else { x }
}

/// Largest integral value not above an f32 without sign.
#[inline(always)]
fn trunc_magnitude(x: f32) -> f32 {
    let near = round_magnitude(x);
    if near > x { near - 1.0 } else { near }
}

impl Arithmetic for f64 {
    native_arithmetic!(f64, 1u64 << 63, libm::fmod);

    #[inline(always)]
    fn fma(a: f64, b: f64, c: f64) -> f64 {
        libm::fma(a, b, c).canonical()
    }

    #[inline(always)]
    fn floor(x: f64) -> f64 {
        libm::floor(x).canonical()
    }

    #[inline(always)]
    fn ceil(x: f64) -> f64 {
        libm::ceil(x).canonical()
    }

    #[inline(always)]
    fn trunc(x: f64) -> f64 {
        libm::trunc(x).canonical()
    }

    #[inline(always)]
    fn round(x: f64) -> f64 {
        libm::round(x).canonical()
    }

    #[inline(always)]
    fn round_even(x: f64) -> f64 {
        libm::rint(x).canonical()
    }
}

/// `a * b + c` in f64, rounded to odd: an inexact result has its last bit set.
///
/// The product of two f32 is exact in f64. Rounding the sum to odd, and the result once more to a format
/// of at most 51 mantissa bits, is rounding once (Boldo and Melquiond, *Emulation of FMA and correctly
/// rounded sums: proved algorithms using rounding to odd*, 2008).
#[inline(always)]
pub fn fma_odd(a: f32, b: f32, c: f32) -> f64 {
    let product = f64::from(a) * f64::from(b);
    let c = f64::from(c);
    let sum = product + c;
    // The exact error of the addition (Knuth's two-sum). Not a number if the sum is not finite.
    let part = sum - product;
    let error = (product - (sum - part)) + (c - part);
    let bits = sum.to_bits();
    let toward_error = if (error > 0.0) == (sum > 0.0) {
        bits.wrapping_add(1)
    } else {
        bits.wrapping_sub(1)
    };
    let inexact = error.abs() > 0.0;
    f64::from_bits(if inexact && bits & 1 == 0 {
        toward_error
    } else {
        bits
    })
}

/// `a * b + c` rounded once, with whatever NaN the CPU returns.
#[inline(always)]
pub(super) fn fused(a: f32, b: f32, c: f32) -> f32 {
    if cfg!(any(target_arch = "aarch64", target_feature = "fma")) {
        // One instruction there; elsewhere a call of the system's library.
        #[allow(clippy::disallowed_methods)]
        a.mul_add(b, c)
    } else {
        fma_odd(a, b, c) as f32
    }
}

/// Arithmetic of a narrow type. `mul` and `div` say in which type a product or quotient is computed: one
/// whose rounding does not change the rounding to the narrow type.
macro_rules! narrow_arithmetic {
    ($t:ident, $sign:expr, |$a:ident, $b:ident| mul: $mul:expr, div: $div:expr) => {
        impl Arithmetic for $t {
            #[inline(always)]
            fn add(a: $t, b: $t) -> $t {
                $t::from_f32(a.to_f32() + b.to_f32())
            }

            #[inline(always)]
            fn sub(a: $t, b: $t) -> $t {
                $t::from_f32(a.to_f32() - b.to_f32())
            }

            #[inline(always)]
            fn mul($a: $t, $b: $t) -> $t {
                $mul
            }

            #[inline(always)]
            fn div($a: $t, $b: $t) -> $t {
                $div
            }

            #[inline(always)]
            fn rem(a: $t, b: $t) -> $t {
                $t::from_f32(libm::fmodf(a.to_f32(), b.to_f32()))
            }

            #[inline(always)]
            fn fma(a: $t, b: $t, c: $t) -> $t {
                $t::from_f64(fma_odd(a.to_f32(), b.to_f32(), c.to_f32()))
            }

            #[inline(always)]
            fn sqrt(x: $t) -> $t {
                $t::from_f32(x.to_f32().sqrt())
            }

            #[inline(always)]
            fn neg(x: $t) -> $t {
                $t(x.0 ^ $sign)
            }

            #[inline(always)]
            fn abs(x: $t) -> $t {
                $t(x.0 & !$sign)
            }

            #[inline(always)]
            fn copysign(x: $t, sign: $t) -> $t {
                $t((x.0 & !$sign) | (sign.0 & $sign))
            }

            narrow_arithmetic!(@via_f32 $t: maxnum(a, b) minnum(a, b) maximum(a, b) minimum(a, b)
                floor(x) ceil(x) trunc(x) round(x) round_even(x));
        }
    };
    (@via_f32 $t:ident: $($name:ident($($arg:ident),*))*) => {$(
        #[inline(always)]
        fn $name($($arg: $t),*) -> $t {
            $t::from_f32(<f32 as Arithmetic>::$name($($arg.to_f32()),*))
        }
    )*};
}

// f32 has more than twice the bits of f16, and its range holds every product and quotient.
narrow_arithmetic!(F16, 0x8000, |a, b|
    mul: F16::from_f32(a.to_f32() * b.to_f32()),
    div: F16::from_f32(a.to_f32() / b.to_f32()));
// A tiny product or quotient of bf16 is a subnormal f32, which would be a first rounding.
narrow_arithmetic!(Bf16, 0x8000, |a, b|
    mul: mul_bf16(a.to_f32(), b.to_f32()),
    div: Bf16::from_f64(f64::from(a.to_f32()) / f64::from(b.to_f32())));
narrow_arithmetic!(F8E4M3, 0x80, |a, b|
    mul: F8E4M3::from_f32(a.to_f32() * b.to_f32()),
    div: F8E4M3::from_f32(a.to_f32() / b.to_f32()));
narrow_arithmetic!(F8E5M2, 0x80, |a, b|
    mul: F8E5M2::from_f32(a.to_f32() * b.to_f32()),
    div: F8E5M2::from_f32(a.to_f32() / b.to_f32()));

/// The product of two bf16, rounded once.
#[inline(always)]
fn mul_bf16(a: f32, b: f32) -> Bf16 {
    let product = a * b;
    // Where it is a subnormal f32, neither factor exceeds 2^7 and the product is formed 2^100 times larger;
    // the addition rounds it to 2^-133 as large, the smallest bf16, which is the unit of 2^-10.
    let larger = ((a * f32::from_bits((100 + 127) << 23)) * b).abs();
    let unit = f32::from_bits((127 - 10) << 23);
    let subnormal =
        (larger + unit).to_bits().wrapping_sub(unit.to_bits()) | (product.to_bits() >> 16 & 0x8000);
    let tiny = product.abs() < f32::MIN_POSITIVE;
    Bf16(if tiny {
        subnormal as u16
    } else {
        Bf16::from_f32(product).0
    })
}

/// Declares [`Elementary`] and implements it: for each function its f64 form, and its f32 form, which is one of
/// [`single`] or a function of f64 whose result is rounded once.
macro_rules! elementary {
    ($($(#[$doc:meta])* $name:ident($($arg:ident),+): $f64:expr, $how:ident $f32:expr;)*) => {
        /// Elementary functions of a float type.
        pub trait Elementary: Pod + Send + Sync {
            $($(#[$doc])* fn $name($($arg: Self),+) -> Self;)*
        }

        impl Elementary for f64 {
            $(
                #[inline(always)]
                fn $name($($arg: f64),+) -> f64 {
                    ($f64)($($arg),+).canonical()
                }
            )*
        }

        impl Elementary for f32 {
            $(
                #[inline(always)]
                fn $name($($arg: f32),+) -> f32 {
                    elementary!(@single $how $f32, $($arg),+).canonical()
                }
            )*
        }

        elementary!(@narrow F16 $($name($($arg),+))*);
        elementary!(@narrow Bf16 $($name($($arg),+))*);
        elementary!(@narrow F8E4M3 $($name($($arg),+))*);
        elementary!(@narrow F8E5M2 $($name($($arg),+))*);
    };
    (@single f32 $f:expr, $($arg:ident),+) => { ($f)($($arg),+) };
    // This cast is the one rounding.
    (@single f64 $f:expr, $($arg:ident),+) => { ($f)($(f64::from($arg)),+) as f32 };
    (@narrow $t:ident $($name:ident($($arg:ident),+))*) => {
        impl Elementary for $t {
            $(
                #[inline(always)]
                fn $name($($arg: $t),+) -> $t {
                    $t::from_f32(<f32 as Elementary>::$name($($arg.to_f32()),+))
                }
            )*
        }
    };
}

elementary! {
    /// e^x.
    exp(x): libm::exp, f32 |x| single::exp(x, fused);
    /// 2^x.
    exp2(x): libm::exp2, f32 |x| single::exp2(x, fused);
    /// 10^x.
    exp10(x): libm::exp10, f64 libm::exp10;
    /// e^x − 1, also near 0.
    expm1(x): libm::expm1, f64 vector::expm1;
    /// Natural logarithm: −∞ of ±0, NaN of negatives.
    log(x): libm::log, f32 single::log;
    /// Logarithm to base 2.
    log2(x): libm::log2, f32 single::log2;
    /// Logarithm to base 10.
    log10(x): libm::log10, f64 vector::log10;
    /// log(1 + x), also near 0.
    log1p(x): libm::log1p, f64 vector::log1p;
    /// 1 / √x: ±∞ of ±0.
    rsqrt(x): |x: f64| 1.0 / x.sqrt(), f64 |x: f64| 1.0 / x.sqrt();
    /// Cube root.
    cbrt(x): libm::cbrt, f64 libm::cbrt;
    /// a^b, as C's `pow`.
    pow(a, b): libm::pow, f64 libm::pow;
    /// Sine.
    sin(x): libm::sin, f64 vector::sin;
    /// Cosine.
    cos(x): libm::cos, f64 vector::cos;
    /// Tangent.
    tan(x): libm::tan, f64 vector::tan;
    /// Arc sine.
    asin(x): libm::asin, f64 libm::asin;
    /// Arc cosine.
    acos(x): libm::acos, f64 libm::acos;
    /// Arc tangent.
    atan(x): libm::atan, f64 libm::atan;
    /// The angle of the point (b, a), as C's `atan2(a, b)`.
    atan2(a, b): libm::atan2, f64 libm::atan2;
    /// Hyperbolic sine.
    sinh(x): libm::sinh, f64 libm::sinh;
    /// Hyperbolic cosine.
    cosh(x): libm::cosh, f64 libm::cosh;
    /// Hyperbolic tangent.
    tanh(x): libm::tanh, f32 single::tanh;
    /// Inverse hyperbolic sine.
    asinh(x): libm::asinh, f64 libm::asinh;
    /// Inverse hyperbolic cosine.
    acosh(x): libm::acosh, f64 libm::acosh;
    /// Inverse hyperbolic tangent.
    atanh(x): libm::atanh, f64 libm::atanh;
    /// Error function.
    erf(x): libm::erf, f32 |x| single::erf(x, fused);
    /// Complementary error function.
    erfc(x): libm::erfc, f64 libm::erfc;
}

/// Declares functions over slices whose lanes want a fused multiply-add: one instruction, where there is one.
macro_rules! fused_slices {
    ($($(#[$doc:meta])* $name:ident: $lane:ident $(, $vectors:path)?;)*) => {$(
        $(#[$doc])*
        pub fn $name(cpu: Cpu, x: &[f32], out: &mut [f32]) {
            $(if $vectors(cpu, x, out) {
                return;
            })?
            // Compiled for a level with the instruction, this is it.
            #[allow(clippy::disallowed_methods)]
            let fma = |a: f32, b: f32, c: f32| a.mul_add(b, c);
            match cpu.level() {
                CpuLevel::Scalar => cpu.map(x, out, <f32 as Elementary>::$lane),
                _ => cpu.map(x, out, |x| single::$lane(x, fma).canonical()),
            }
        }
    )*};
}

fused_slices! {
    /// `out[i] = e^x[i]`, over the shorter length, with the CPU's vectors: as a loop over [`Elementary::exp`].
    exp_slice: exp, simd::exp;
    /// `out[i] = 2^x[i]`, over the shorter length, with the CPU's vectors: as a loop over [`Elementary::exp2`].
    exp2_slice: exp2, simd::exp2;
    /// `out[i] = erf(x[i])`, over the shorter length, with the CPU's vectors: as a loop over [`Elementary::erf`].
    erf_slice: erf, simd::erf;
}

/// x^n for an integer n: `math.fpowi`, libdevice's `powi`.
#[inline]
pub fn powi(x: f64, n: i32) -> f64 {
    libm::pow(x, f64::from(n)).canonical()
}
