//! Elementary functions for f32 arguments, computed in f64 without branches, tables or calls, so that
//! loops over them vectorise.
//!
//! Each takes an f32 value widened to f64 and returns the function within a relative error of 2^-34;
//! rounding that to f32 gives at most 0.501 ulp. They are not for general f64 arguments: the ranges of
//! their polynomials and their handling of exponents assume f32's. The polynomials are Taylor's, on ranges
//! short enough that nothing better is needed.

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

/// 2^t as (2^k, 2^r − 1), k the nearest integer to t and |r| ≤ 1/2. |t| must be below 1000, or NaN.
#[inline(always)]
fn split_exp2(t: f64) -> (f64, f64) {
    let shifted = t + ROUND;
    let r = t - (shifted - ROUND);
    let scale = f64::from_bits((shifted.to_bits() << 52).wrapping_add(ONE));
    let [c1, c2, c3, c4, c5, c6, c7, c8, c9, c10] = EXP2;
    let q = c10;
    let q = q * r + c9;
    let q = q * r + c8;
    let q = q * r + c7;
    let q = q * r + c6;
    let q = q * r + c5;
    let q = q * r + c4;
    let q = q * r + c3;
    let q = q * r + c2;
    let q = q * r + c1;
    (scale, q * r)
}

/// Limits an exponent to where f32 has long overflowed or vanished; keeps NaN.
#[inline(always)]
fn limit(t: f64) -> f64 {
    let t = if t < -200.0 { -200.0 } else { t };
    if t > 200.0 { 200.0 } else { t }
}

/// 2^x.
#[inline(always)]
pub(super) fn exp2(x: f64) -> f64 {
    let (scale, excess) = split_exp2(limit(x));
    scale + scale * excess
}

/// e^x.
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    exp2(x * std::f64::consts::LOG2_E)
}

/// e^x − 1.
#[inline(always)]
pub(super) fn expm1(x: f64) -> f64 {
    let (scale, excess) = split_exp2(limit(x * std::f64::consts::LOG2_E));
    // Near 0 the scale is 1 and the excess is the result; elsewhere nothing cancels much.
    (scale * excess + (scale - 1.0)).copysign(x)
}

/// Hyperbolic tangent.
#[inline(always)]
pub(super) fn tanh(x: f64) -> f64 {
    let double = x.abs() * 2.0;
    let grown = expm1(if double > 60.0 { 60.0 } else { double });
    (grown / (grown + 2.0)).copysign(x)
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
    let p = 2.0 / 17.0;
    let p = p * z + 2.0 / 15.0;
    let p = p * z + 2.0 / 13.0;
    let p = p * z + 2.0 / 11.0;
    let p = p * z + 2.0 / 9.0;
    let p = p * z + 2.0 / 7.0;
    let p = p * z + 2.0 / 5.0;
    let p = p * z + 2.0 / 3.0;
    let p = p * z + 2.0;
    (k, s * p)
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

/// Logarithm to base 2.
#[inline(always)]
pub(super) fn log2(x: f64) -> f64 {
    let (k, ln_m) = split_log(x);
    log_specials(x, k + ln_m * std::f64::consts::LOG2_E)
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
