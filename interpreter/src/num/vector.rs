//! Elementary functions for f32 arguments, computed in f64 without branches or calls, so that loops over
//! them vectorise.
//!
//! Each takes an f32 value widened to f64 and returns the function within a relative error of 2^-34;
//! rounding that to f32 gives at most 0.501 ulp. They are not for general f64 arguments: the ranges of
//! their polynomials and their handling of exponents assume f32's. The polynomials are Taylor's.
//! The functions that kernels use most have faster forms in `single`.

/// 1.5·2^52: adding it to a small number rounds to an integer, whose two's complement is then in the low
/// bits.
const ROUND: f64 = 6755399441055744.0;

/// Bits of 1.0.
const ONE: u64 = 1023 << 52;

/// ln(2)^n / n! for n = 1 to 10: the coefficients of 2^r − 1.
const EXP2: [f64; 10] = [
    std::f64::consts::LN_2,
    0.2402265069591007,
    0.05550410866482158,
    0.009618129107628477,
    0.0013333558146428443,
    0.0001540353039338161,
    1.5252733804059841e-05,
    1.321548679014431e-06,
    1.01780860092397e-07,
    7.054911620801123e-09,
];

/// 2/(2n + 1) for n = 0 to 8: the coefficients of 2·artanh(s)/s in s².
const ARTANH: [f64; 9] = [
    2.0,
    2.0 / 3.0,
    2.0 / 5.0,
    2.0 / 7.0,
    2.0 / 9.0,
    2.0 / 11.0,
    2.0 / 13.0,
    2.0 / 15.0,
    2.0 / 17.0,
];

/// Σ c_n·x^n, by Horner's rule.
#[inline(always)]
fn polynomial<const N: usize>(x: f64, c: [f64; N]) -> f64 {
    let mut sum = c[N - 1];
    for n in (0..N - 1).rev() {
        sum = sum * x + c[n];
    }
    sum
}

/// 2^t as (2^k, 2^r − 1), k the nearest integer to t and |r| ≤ 1/2. |t| must be below 1000, or NaN.
#[inline(always)]
fn split_exp2(t: f64) -> (f64, f64) {
    let shifted = t + ROUND;
    let r = t - (shifted - ROUND);
    let scale = f64::from_bits((shifted.to_bits() << 52).wrapping_add(ONE));
    (scale, polynomial(r, EXP2) * r)
}

/// Limits an exponent to where f32 has long overflowed or vanished; keeps NaN.
#[inline(always)]
fn limit(t: f64) -> f64 {
    let t = if t < -200.0 { -200.0 } else { t };
    if t > 200.0 { 200.0 } else { t }
}

/// e^x − 1.
#[inline(always)]
pub(super) fn expm1(x: f64) -> f64 {
    let (scale, excess) = split_exp2(limit(x * std::f64::consts::LOG2_E));
    // Near 0 the scale is 1 and the excess is the result; elsewhere nothing cancels much.
    (scale * excess + (scale - 1.0)).copysign(x)
}

/// ln(x) as (k, ln(m)) with x = 2^k·m and m within [√½, √2), for a positive finite x.
#[inline(always)]
fn split_log(x: f64) -> (f64, f64) {
    let bits = x.to_bits();
    // Biased so that the exponent field of `shifted` changes at √½ of each power of two.
    let shifted = bits
        .wrapping_sub(std::f64::consts::FRAC_1_SQRT_2.to_bits())
        .wrapping_add(ONE);
    let exponent = shifted >> 52;
    let m = f64::from_bits(bits.wrapping_sub(exponent << 52).wrapping_add(ONE));
    // An integer below 2^52 in the low bits of 2^52 is a float.
    let k = f64::from_bits((1075 << 52) | exponent) - (4503599627370496.0 + 1023.0);
    // ln(m) = 2·artanh(s), |s| ≤ 0.172.
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    (k, s * polynomial(z, ARTANH))
}

/// Gives a logarithm its values outside the positive finite numbers.
#[inline(always)]
fn log_specials(x: f64, finite: f64) -> f64 {
    let value = if x == f64::INFINITY { f64::INFINITY } else { finite };
    let value = if x == 0.0 { f64::NEG_INFINITY } else { value };
    // Also true of NaN.
    if x >= 0.0 { value } else { f64::NAN }
}

/// Natural logarithm.
#[inline(always)]
pub(super) fn log(x: f64) -> f64 {
    let (k, ln_m) = split_log(x);
    log_specials(x, k * std::f64::consts::LN_2 + ln_m)
}

/// ln(1 + x).
#[inline(always)]
pub(super) fn log1p(x: f64) -> f64 {
    let u = 1.0 + x;
    // What the addition lost; without it small x would lose their digits.
    let lost = (x - (u - 1.0)) / u;
    let correction = if u > 0.0 && u < f64::INFINITY { lost } else { 0.0 };
    (log(u) + correction).copysign(x)
}

/// Logarithm to base 10.
#[inline(always)]
pub(super) fn log10(x: f64) -> f64 {
    let (k, ln_m) = split_log(x);
    log_specials(
        x,
        k * std::f64::consts::LOG10_2 + ln_m * std::f64::consts::LOG10_E,
    )
}

/// The first 384 bits of 2/π after the point, most significant first.
const TWO_OVER_PI: [u64; 6] = [
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
];

/// For each exponent field e of f32: 2/π·2^(e-150) modulo 4, the quarter turns of one unit in the last
/// place, in three parts of 29, 29 and 53 bits. The first two times a 24-bit significand are exact.
// Constants, not statics: a loop over them must know that its stores do not change them.
const QUARTER_TURNS_HIGH: [f64; 256] = quarter_turns(0, 29);
const QUARTER_TURNS_MIDDLE: [f64; 256] = quarter_turns(29, 29);
const QUARTER_TURNS_LOW: [f64; 256] = quarter_turns(58, 53);

/// The part of `count` bits after `skipped` bits.
const fn quarter_turns(skipped: i32, count: i32) -> [f64; 256] {
    let mut table = [0.0; 256];
    let mut e = 0;
    while e < 256 {
        // A subnormal has the exponent 1. Bit i of 2/π (from 1) weighs 2^(e-150-i); from 4 on they are whole
        // turns, and dropped.
        let exponent = if e == 0 { 1 } else { e as i32 };
        let first = if exponent > 152 { exponent - 151 } else { 1 };
        table[e] = bits_of_two_over_pi(first + skipped, count, exponent - 150);
        e += 1;
    }
    table
}

/// The bits of 2/π from bit `first` on, at most 53, as a number times 2^weight.
const fn bits_of_two_over_pi(first: i32, count: i32, weight: i32) -> f64 {
    let mut digits = 0u64;
    let mut i = first;
    while i < first + count {
        let at = (i - 1) as usize;
        digits = digits << 1 | (TWO_OVER_PI[at / 64] >> (63 - at % 64)) & 1;
        i += 1;
    }
    let last = weight - (first + count - 1);
    digits as f64 * f64::from_bits(((last + 1023) as u64) << 52)
}

/// The angle |x| as (quarter turns modulo 4, the rest r in quarter turns, |r| ≤ 0.63), for a finite f32
/// of any size.
#[inline(always)]
fn split_angle(x: f64) -> (u64, f64) {
    let bits = (x as f32).to_bits();
    let exponent = bits >> 23 & 0xff;
    let significand = (bits & 0x7f_ffff) | if exponent == 0 { 0 } else { 0x80_0000 };
    let significand = f64::from(significand as i32);
    let e = exponent as usize;
    let (high, middle, low) = (
        QUARTER_TURNS_HIGH[e],
        QUARTER_TURNS_MIDDLE[e],
        QUARTER_TURNS_LOW[e],
    );
    let turns = significand * high;
    let shifted = turns + ROUND;
    let rest = (turns - (shifted - ROUND)) + significand * middle + significand * low;
    (shifted.to_bits(), rest)
}

/// (−1)^n (π/2)^(2n+1) / (2n+1)!: the sine of quarter turns, over r, in r².
const SIN: [f64; 8] = [
    std::f64::consts::FRAC_PI_2,
    -0.6459640975062463,
    0.07969262624616705,
    -0.004681754135318688,
    0.00016044118478735983,
    -3.598843235212085e-06,
    5.692172921967927e-08,
    -6.688035109811468e-10,
];

/// (−1)^n (π/2)^(2n) / (2n)!: the cosine of quarter turns, in r².
const COS: [f64; 9] = [
    1.0,
    -1.2337005501361697,
    0.25366950790104803,
    -0.02086348076335296,
    0.0009192602748394266,
    -2.5202042373060607e-05,
    4.710874778818172e-07,
    -6.386603083791852e-09,
    6.565963114979473e-11,
];

/// Sine and cosine of a rest of quarter turns.
#[inline(always)]
fn sin_cos_of_rest(r: f64) -> (f64, f64) {
    let z = r * r;
    (r * polynomial(z, SIN), polynomial(z, COS))
}

/// `value` with its sign flipped if bit 1 of `quarters` is set.
#[inline(always)]
fn flip_half_turn(value: f64, quarters: u64) -> f64 {
    f64::from_bits(value.to_bits() ^ (quarters & 2) << 62)
}

/// Infinities have no angle.
#[inline(always)]
fn nan_of_infinity(x: f64, value: f64) -> f64 {
    if x.abs() < f64::INFINITY { value } else { f64::NAN }
}

/// Sine.
#[inline(always)]
pub(super) fn sin(x: f64) -> f64 {
    let (quarters, rest) = split_angle(x);
    let (sin, cos) = sin_cos_of_rest(rest);
    let value = flip_half_turn(if quarters & 1 == 0 { sin } else { cos }, quarters);
    nan_of_infinity(x, if x.is_sign_negative() { -value } else { value })
}

/// Cosine.
#[inline(always)]
pub(super) fn cos(x: f64) -> f64 {
    let (quarters, rest) = split_angle(x);
    let (sin, cos) = sin_cos_of_rest(rest);
    let value = if quarters & 1 == 0 { cos } else { sin };
    nan_of_infinity(x, flip_half_turn(value, quarters.wrapping_add(quarters & 1)))
}

/// Tangent.
#[inline(always)]
pub(super) fn tan(x: f64) -> f64 {
    let (quarters, rest) = split_angle(x);
    let (sin, cos) = sin_cos_of_rest(rest);
    let value = if quarters & 1 == 0 { sin / cos } else { -cos / sin };
    nan_of_infinity(x, if x.is_sign_negative() { -value } else { value })
}
