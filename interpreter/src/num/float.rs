//! Storage formats narrower than f32, and their conversions.
//!
//! Each format is a newtype over its bits (`repr(transparent)`, [`Pod`]); comparing two of them compares
//! bits, not values. Arithmetic is done in f32 (or f64) and rounded back once: the conversions to f32 are
//! exact, those from f32 and f64 round once, to nearest even ([`StoredFloat`]) or toward zero
//! ([`RoundTowardZero`]).
//!
//! | type | MLIR | exponent, mantissa, bias | overflow | NaN |
//! |---|---|---|---|---|
//! | [`F16`] | `f16` | 5, 10, 15 | infinity | `7fff` |
//! | [`Bf16`] | `bf16` | 8, 7, 127 | infinity | `7fff` |
//! | [`F8E4M3`] | `f8E4M3FN` | 4, 3, 7 | ±448, infinities too | `7f` |
//! | [`F8E5M2`] | `f8E5M2` | 5, 2, 15 | ±57344, infinities too | `7f` |
//! | [`F8E4M3Fnuz`] | `f8E4M3FNUZ` | 4, 3, 8 | ±240, infinities too | `80` |
//! | [`F8E5M2Fnuz`] | `f8E5M2FNUZ` | 5, 2, 16 | ±57344, infinities too | `80` |
//! | [`F8E4M3B11Fnuz`] | `f8E4M3B11FNUZ` | 4, 3, 11 | ±30, infinities too | `80` |
//!
//! The first four follow the H200. The `Fnuz` formats are AMD's and were not measured: they are as MLIR
//! defines them (no infinity, no −0, one NaN) with the saturation of the others.
//!
//! The code is integer arithmetic and selects, without branches or tables, so that loops over slices
//! ([`StoredFloat::widen_slice`]) vectorise on any CPU.

use bytemuck::{Pod, Zeroable};

use crate::simd::{self, Cpu};

/// The NaN that every computing f32 operation returns, as on the card: `0x7fffffff`.
pub const CANONICAL_NAN: f32 = f32::from_bits(0x7fff_ffff);

/// The NaN that every computing f64 operation returns.
pub const CANONICAL_NAN_F64: f64 = f64::from_bits(0x7fff_ffff_ffff_ffff);

/// Replaces any NaN by the one canonical NaN of the type, so that results do not depend on the CPU.
pub trait Canonical {
    /// The value itself, or the canonical NaN if it is a NaN.
    fn canonical(self) -> Self;
}

impl Canonical for f32 {
    #[inline(always)]
    fn canonical(self) -> f32 {
        if self.is_nan() { CANONICAL_NAN } else { self }
    }
}

impl Canonical for f64 {
    #[inline(always)]
    fn canonical(self) -> f64 {
        if self.is_nan() { CANONICAL_NAN_F64 } else { self }
    }
}

/// A float format all of whose values are f32 values: it is stored narrow and computed with in f32.
///
/// f32 itself is one (its conversions to and from f32 keep every bit), so that one loop serves all.
pub trait StoredFloat: Pod + Send + Sync {
    /// Largest finite value.
    const MAX: f32;

    /// The value, exactly; a NaN becomes [`CANONICAL_NAN`] (f32 keeps its own).
    fn to_f32(self) -> f32;

    /// Rounded to nearest even; overflow, infinities and NaN as in the table of the module.
    fn from_f32(x: f32) -> Self;

    /// As [`from_f32`](StoredFloat::from_f32), rounded once (not by way of f32).
    fn from_f64(x: f64) -> Self;

    /// Widens a slice to f32, over the shorter length, with the CPU's vectors.
    #[inline]
    fn widen_slice(cpu: Cpu, src: &[Self], dst: &mut [f32]) {
        cpu.map(src, dst, Self::to_f32);
    }

    /// As [`widen_slice`](StoredFloat::widen_slice), but a NaN may become any NaN: for arithmetic whose results
    /// are made canonical.
    #[inline]
    fn widen_operands(cpu: Cpu, src: &[Self], dst: &mut [f32]) {
        Self::widen_slice(cpu, src, dst);
    }

    /// Rounds a slice of f32 to nearest even, over the shorter length, with the CPU's vectors.
    #[inline]
    fn narrow_slice(cpu: Cpu, src: &[f32], dst: &mut [Self]) {
        cpu.map(src, dst, Self::from_f32);
    }
}

/// Formats to which the card can convert by rounding toward zero (`tt.fp_to_fp … rounding = rtz`).
pub trait RoundTowardZero: StoredFloat {
    /// Rounded toward zero: a finite value never overflows to infinity, an infinity stays one.
    fn from_f32_rtz(x: f32) -> Self;

    /// As [`from_f32_rtz`](RoundTowardZero::from_f32_rtz), rounded once.
    fn from_f64_rtz(x: f64) -> Self;
}

/// Declares a storage format: a newtype over its bits.
macro_rules! format {
    ($(#[$doc:meta])* $name:ident($bits:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Pod, Zeroable)]
        #[repr(transparent)]
        pub struct $name(
            /// The bit pattern.
            pub $bits,
        );
    };
}

format! {
    /// IEEE half precision.
    F16(u16)
}
format! {
    /// bfloat16: the upper half of an f32.
    Bf16(u16)
}
format! {
    /// fp8 with 3 mantissa bits, finite and one NaN magnitude (`f8E4M3FN`; Triton's `fp8e4nv`).
    F8E4M3(u8)
}
format! {
    /// fp8 with 2 mantissa bits: the upper half of an f16 (`f8E5M2`; Triton's `fp8e5`).
    F8E5M2(u8)
}
format! {
    /// AMD's fp8 with 3 mantissa bits (`f8E4M3FNUZ`; Triton's `fp8e4b8`).
    F8E4M3Fnuz(u8)
}
format! {
    /// AMD's fp8 with 2 mantissa bits (`f8E5M2FNUZ`; Triton's `fp8e5b16`).
    F8E5M2Fnuz(u8)
}
format! {
    /// fp8 with 3 mantissa bits and bias 11 (`f8E4M3B11FNUZ`).
    F8E4M3B11Fnuz(u8)
}

const F32_INF: u32 = 0x7f80_0000;
const F64_INF: u64 = 0x7ff0_0000_0000_0000;
const F32_SIGN: u32 = 0x8000_0000;
const F64_SIGN: u64 = 1 << 63;

/// 2^n as an f32, for n in the normal range.
const fn exp2_f32(n: i32) -> f32 {
    f32::from_bits(((n + 127) as u32) << 23)
}

/// 2^n as an f64, for n in the normal range.
const fn exp2_f64(n: i32) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}

/// Value of the magnitude `code` (sign removed) of a format with M mantissa bits and exponent bias B, as
/// if the largest exponent were a normal one.
#[inline(always)]
fn decode<const M: u32, const B: i32>(code: u32) -> f32 {
    let normal = f32::from_bits((code << (23 - M)) + (((127 - B) as u32) << 23));
    let subnormal = code as f32 * exp2_f32(1 - B - M as i32);
    if code < 1 << M { subnormal } else { normal }
}

/// Puts the sign of `code`, whose sign bit is bit `S`, on a value that has none.
#[inline(always)]
fn with_sign<const S: u32>(value: f32, code: u32) -> f32 {
    f32::from_bits(value.to_bits() | ((code << (31 - S)) & F32_SIGN))
}

/// Magnitude code of an f32 magnitude (bits without sign), rounded to nearest even, in a format with M
/// mantissa bits and bias B. Values beyond the format give codes beyond its largest: the caller cuts.
///
/// Subnormal results are rounded by one addition: the unit in the last place of 2^(24-M-B) is the
/// smallest subnormal.
#[inline(always)]
fn encode_f32<const M: u32, const B: i32>(x: u32) -> u32 {
    let drop = 23 - M;
    let rebias = ((127 - B) as u32) << 23;
    let half_even = ((1 << (drop - 1)) - 1) + ((x >> drop) & 1);
    let normal = (x + half_even).wrapping_sub(rebias) >> drop;
    let magic = exp2_f32(24 - B - M as i32);
    let subnormal = (f32::from_bits(x) + magic)
        .to_bits()
        .wrapping_sub(magic.to_bits());
    if x < rebias + (1 << 23) { subnormal } else { normal }
}

/// As [`encode_f32`], from the bits of an f64 magnitude.
#[inline(always)]
fn encode_f64<const M: u32, const B: i32>(x: u64) -> u64 {
    let drop = 52 - M;
    let rebias = ((1023 - B) as u64) << 52;
    let half_even = ((1 << (drop - 1)) - 1) + ((x >> drop) & 1);
    let normal = (x + half_even).wrapping_sub(rebias) >> drop;
    let magic = exp2_f64(53 - B - M as i32);
    let subnormal = (f64::from_bits(x) + magic)
        .to_bits()
        .wrapping_sub(magic.to_bits());
    if x < rebias + (1 << 52) { subnormal } else { normal }
}

/// As [`encode_f32`], rounded toward zero.
#[inline(always)]
fn encode_f32_rtz<const M: u32, const B: i32>(x: u32) -> u32 {
    let rebias = ((127 - B) as u32) << 23;
    let normal = x.wrapping_sub(rebias) >> (23 - M);
    let subnormal = (f32::from_bits(x) * exp2_f32(B - 1 + M as i32)) as i32 as u32;
    if x < rebias + (1 << 23) { subnormal } else { normal }
}

/// As [`encode_f64`], rounded toward zero.
#[inline(always)]
fn encode_f64_rtz<const M: u32, const B: i32>(x: u64) -> u64 {
    let rebias = ((1023 - B) as u64) << 52;
    let normal = x.wrapping_sub(rebias) >> (52 - M);
    let subnormal = (f64::from_bits(x) * exp2_f64(B - 1 + M as i32)) as i32 as u64;
    if x < rebias + (1 << 52) { subnormal } else { normal }
}

impl StoredFloat for f32 {
    const MAX: f32 = f32::MAX;

    #[inline(always)]
    fn to_f32(self) -> f32 {
        self
    }

    #[inline(always)]
    fn from_f32(x: f32) -> f32 {
        x
    }

    #[inline(always)]
    fn from_f64(x: f64) -> f32 {
        (x as f32).canonical()
    }
}

impl RoundTowardZero for f32 {
    #[inline(always)]
    fn from_f32_rtz(x: f32) -> f32 {
        x
    }

    #[inline(always)]
    fn from_f64_rtz(x: f64) -> f32 {
        let near = x as f32;
        // Rounding away from zero moved the code up by one; an infinity steps back to the largest finite.
        let away = (near.abs() as f64) > x.abs();
        f32::from_bits(near.to_bits() - away as u32).canonical()
    }
}

impl StoredFloat for F16 {
    const MAX: f32 = 65504.0;

    #[inline(always)]
    fn to_f32(self) -> f32 {
        let code = u32::from(self.0);
        let magnitude = code & 0x7fff;
        let finite = decode::<10, 15>(magnitude);
        let value = if magnitude == 0x7c00 {
            f32::INFINITY
        } else {
            finite
        };
        let signed = with_sign::<15>(value, code);
        if magnitude > 0x7c00 { CANONICAL_NAN } else { signed }
    }

    #[inline(always)]
    fn from_f32(x: f32) -> F16 {
        let bits = x.to_bits();
        let magnitude = bits & !F32_SIGN;
        let code = encode_f32::<10, 15>(magnitude).min(0x7c00) | ((bits & F32_SIGN) >> 16);
        F16(if magnitude > F32_INF { 0x7fff } else { code } as u16)
    }

    #[inline(always)]
    fn from_f64(x: f64) -> F16 {
        let bits = x.to_bits();
        let magnitude = bits & !F64_SIGN;
        let code = encode_f64::<10, 15>(magnitude).min(0x7c00) | ((bits & F64_SIGN) >> 48);
        F16(if magnitude > F64_INF { 0x7fff } else { code } as u16)
    }

    #[inline]
    fn widen_slice(cpu: Cpu, src: &[F16], dst: &mut [f32]) {
        simd::widen_f16::<true>(cpu, src, dst);
    }

    #[inline]
    fn widen_operands(cpu: Cpu, src: &[F16], dst: &mut [f32]) {
        simd::widen_f16::<false>(cpu, src, dst);
    }

    #[inline]
    fn narrow_slice(cpu: Cpu, src: &[f32], dst: &mut [F16]) {
        simd::narrow_f16(cpu, src, dst);
    }
}

impl RoundTowardZero for F16 {
    #[inline(always)]
    fn from_f32_rtz(x: f32) -> F16 {
        let bits = x.to_bits();
        let magnitude = bits & !F32_SIGN;
        let top = if magnitude == F32_INF { 0x7c00 } else { 0x7bff };
        let code = encode_f32_rtz::<10, 15>(magnitude).min(top) | ((bits & F32_SIGN) >> 16);
        F16(if magnitude > F32_INF { 0x7fff } else { code } as u16)
    }

    #[inline(always)]
    fn from_f64_rtz(x: f64) -> F16 {
        let bits = x.to_bits();
        let magnitude = bits & !F64_SIGN;
        let top = if magnitude == F64_INF { 0x7c00 } else { 0x7bff };
        let code = encode_f64_rtz::<10, 15>(magnitude).min(top) | ((bits & F64_SIGN) >> 48);
        F16(if magnitude > F64_INF { 0x7fff } else { code } as u16)
    }
}

impl StoredFloat for Bf16 {
    const MAX: f32 = f32::from_bits(0x7f7f_0000);

    #[inline(always)]
    fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16).canonical()
    }

    #[inline(always)]
    fn from_f32(x: f32) -> Bf16 {
        // The exponent is f32's own: dropping 16 bits rounds subnormals and carries into infinity alike.
        let bits = x.to_bits();
        let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
        Bf16(if x.is_nan() { 0x7fff } else { rounded } as u16)
    }

    #[inline(always)]
    fn from_f64(x: f64) -> Bf16 {
        let bits = x.to_bits();
        let magnitude = bits & !F64_SIGN;
        let code = encode_f64::<7, 127>(magnitude).min(0x7f80) | ((bits & F64_SIGN) >> 48);
        Bf16(if magnitude > F64_INF { 0x7fff } else { code } as u16)
    }

    #[inline]
    fn widen_operands(cpu: Cpu, src: &[Bf16], dst: &mut [f32]) {
        cpu.map(src, dst, |x| f32::from_bits(u32::from(x.0) << 16));
    }
}

impl RoundTowardZero for Bf16 {
    #[inline(always)]
    fn from_f32_rtz(x: f32) -> Bf16 {
        Bf16(if x.is_nan() { 0x7fff } else { x.to_bits() >> 16 } as u16)
    }

    #[inline(always)]
    fn from_f64_rtz(x: f64) -> Bf16 {
        Bf16::from_f32_rtz(f32::from_f64_rtz(x))
    }
}

impl StoredFloat for F8E4M3 {
    const MAX: f32 = 448.0;

    #[inline(always)]
    fn to_f32(self) -> f32 {
        let code = u32::from(self.0);
        let magnitude = code & 0x7f;
        let signed = with_sign::<7>(decode::<3, 7>(magnitude), code);
        if magnitude == 0x7f { CANONICAL_NAN } else { signed }
    }

    #[inline(always)]
    fn from_f32(x: f32) -> F8E4M3 {
        let bits = x.to_bits();
        let magnitude = bits & !F32_SIGN;
        let code = encode_f32::<3, 7>(magnitude).min(0x7e) | ((bits & F32_SIGN) >> 24);
        F8E4M3(if magnitude > F32_INF { 0x7f } else { code } as u8)
    }

    #[inline(always)]
    fn from_f64(x: f64) -> F8E4M3 {
        let bits = x.to_bits();
        let magnitude = bits & !F64_SIGN;
        let code = encode_f64::<3, 7>(magnitude).min(0x7e) | ((bits & F64_SIGN) >> 56);
        F8E4M3(if magnitude > F64_INF { 0x7f } else { code } as u8)
    }
}

impl StoredFloat for F8E5M2 {
    const MAX: f32 = 57344.0;

    #[inline(always)]
    fn to_f32(self) -> f32 {
        F16(u16::from(self.0) << 8).to_f32()
    }

    #[inline(always)]
    fn from_f32(x: f32) -> F8E5M2 {
        let bits = x.to_bits();
        let magnitude = bits & !F32_SIGN;
        let code = encode_f32::<2, 15>(magnitude).min(0x7b) | ((bits & F32_SIGN) >> 24);
        F8E5M2(if magnitude > F32_INF { 0x7f } else { code } as u8)
    }

    #[inline(always)]
    fn from_f64(x: f64) -> F8E5M2 {
        let bits = x.to_bits();
        let magnitude = bits & !F64_SIGN;
        let code = encode_f64::<2, 15>(magnitude).min(0x7b) | ((bits & F64_SIGN) >> 56);
        F8E5M2(if magnitude > F64_INF { 0x7f } else { code } as u8)
    }
}

/// The card cuts an f16: unlike in rounding to nearest, an infinity stays one.
impl RoundTowardZero for F8E5M2 {
    #[inline(always)]
    fn from_f32_rtz(x: f32) -> F8E5M2 {
        F8E5M2((F16::from_f32_rtz(x).0 >> 8) as u8)
    }

    #[inline(always)]
    fn from_f64_rtz(x: f64) -> F8E5M2 {
        F8E5M2((F16::from_f64_rtz(x).0 >> 8) as u8)
    }
}

/// The three formats without infinity and −0, whose one NaN is `80`.
macro_rules! fnuz {
    ($name:ident, $mantissa:literal, $bias:literal, $max:literal) => {
        impl StoredFloat for $name {
            const MAX: f32 = $max;

            #[inline(always)]
            fn to_f32(self) -> f32 {
                let code = u32::from(self.0);
                let signed = with_sign::<7>(decode::<$mantissa, $bias>(code & 0x7f), code);
                if code == 0x80 { CANONICAL_NAN } else { signed }
            }

            #[inline(always)]
            fn from_f32(x: f32) -> $name {
                let bits = x.to_bits();
                let magnitude = bits & !F32_SIGN;
                let code = encode_f32::<$mantissa, $bias>(magnitude).min(0x7f);
                let signed = if code == 0 {
                    0
                } else {
                    code | ((bits & F32_SIGN) >> 24)
                };
                $name(if magnitude > F32_INF { 0x80 } else { signed } as u8)
            }

            #[inline(always)]
            fn from_f64(x: f64) -> $name {
                let bits = x.to_bits();
                let magnitude = bits & !F64_SIGN;
                let code = encode_f64::<$mantissa, $bias>(magnitude).min(0x7f);
                let signed = if code == 0 {
                    0
                } else {
                    code | ((bits & F64_SIGN) >> 56)
                };
                $name(if magnitude > F64_INF { 0x80 } else { signed } as u8)
            }
        }
    };
}

fnuz!(F8E4M3Fnuz, 3, 8, 240.0);
fnuz!(F8E5M2Fnuz, 2, 16, 57344.0);
fnuz!(F8E4M3B11Fnuz, 3, 11, 30.0);
