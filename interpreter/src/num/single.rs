//! The elementary functions that kernels spend their time in, for f32 and computed in f32, without branches,
//! calls or tables, so that loops over them vectorise at full width.
//!
//! The bits are the same on every CPU: [`exp`], [`exp2`] and [`erf`] take the fused multiply-add from their caller, which
//! has one instruction or an emulation; the others are sums and products alone. Where rounding the last sum would not be
//! enough for one unit in the last place, what an addition lost is kept and added last (Dekker, *A floating-point technique
//! for extending the available precision*, 1971).
//! The polynomials have the least maximal error on their intervals, found by weighted least squares.
//!
//! Largest error seen, in units of the last place of the exact result, and the share of results that are not the nearest
//! f32: of `exp` and `exp2` over all numbers of magnitudes from 2^-31 to 160, of the others on dense samples of all f32 (the
//! ignored test `exhaustive_error_of_the_functions` takes all):
//!
//! | function | ulp | not nearest |
//! |---|---:|---:|
//! | [`exp`] | 0.90 | 2.8 % |
//! | [`exp2`] | 0.99 | 2.2 % |
//! | [`log`] | 0.82 | 0.1 % |
//! | [`log2`] | 0.81 | 0.1 % |
//! | [`tanh`] | 0.90 | 0.2 % |
//! | [`erf`] | 0.86 | 3 % |
//!
//! NaN results are not canonical yet.

#![allow(
    clippy::excessive_precision,
    reason = "these are all the digits of the values"
)]

use std::f32::consts::{LN_2, LOG2_E};

/// 1.5·2^23: adding it to a small number rounds to an integer, whose two's complement is then in the low bits.
const ROUND: f32 = 12582912.0;

/// Bits of 1.0, and the place of the exponent.
const ONE: u32 = 127 << 23;
const EXPONENT: u32 = 23;

const SIGN: u32 = 0x8000_0000;

/// ln 2 in two parts. The first has 10 bits: its product with an exponent is exact.
const LN_2_HIGH: f32 = 0.693359375;
const LN_2_LOW: f32 = (std::f64::consts::LN_2 - 0.693359375) as f32;

/// What rounding ln 2 to an f32 loses.
pub(crate) const LN_2_REST: f32 = (std::f64::consts::LN_2 - LN_2 as f64) as f32;

/// Where e^x and 2^x have long vanished, and where they are infinite.
pub(crate) const EXP_LIMITS: [f32; 2] = [-104.0, 89.0];
pub(crate) const EXP2_LIMITS: [f32; 2] = [-151.0, 129.0];

/// The least x whose power does not round to zero, ln(2^-150), and the greatest whose power does.
pub(crate) const EXP_VANISHES: f32 = -103.972084;
pub(crate) const EXP2_VANISHES: f32 = -150.0;

/// (e^r − 1 − r)/r² for |r| ≤ ln(2)/2, to 2^-28 of e^r.
pub(crate) const EXP: [f32; 5] = [0.5, 0.16666518, 0.041666206, 0.00836889, 0.0013950489];

/// (2^r − 1 − r·ln 2)/r² for |r| ≤ 1/2, to 2^-29 of 2^r.
pub(crate) const EXP2: [f32; 5] = [0.24022651, 0.055503275, 0.009618006, 0.001340031, 0.00015475927];

/// (ln(1 + f) − f + f²/2)/f³ for 1 + f within [√½, √2), to 2^-30 of the logarithm.
const LOG: [f32; 9] = [
    0.3333331,
    -0.24999987,
    0.20002227,
    -0.1666925,
    0.14218655,
    -0.12384372,
    0.1187302,
    -0.11789685,
    0.06915125,
];

/// (tanh(x)/x − 1)/x² in x², for |x| ≤ 0.7, to 2^-30 of the tangent.
const TANH: [f32; 6] = [
    -0.33333325,
    0.13332996,
    -0.053922124,
    0.021575848,
    -0.007892198,
    0.0019018094,
];

/// erf(x)/x − 1 in x², for |x| ≤ 0.9, to 2^-31.
pub(crate) const ERF: [f32; 7] = [
    0.12837917,
    -0.37612635,
    0.112837195,
    -0.026860755,
    0.0052044396,
    -0.0008181965,
    8.538983e-5,
];

/// log2(erfc(x)) in x − 1, for x within [0.85, 4], to 2^-28 of erf.
pub(crate) const LOG2_ERFC: [f32; 7] = [
    -2.6684167,
    -3.8072257,
    -1.2163446,
    -0.05994885,
    0.0143995285,
    -0.0027296054,
    0.00029218689,
];

/// Below, erf(x) is by [`ERF`], else by [`LOG2_ERFC`].
pub(crate) const ERF_TURNS: f32 = 0.86;

/// Σ c_n·x^n, by Horner's rule.
#[inline(always)]
fn polynomial<const N: usize>(x: f32, c: [f32; N]) -> f32 {
    let mut sum = c[N - 1];
    for n in (0..N - 1).rev() {
        sum = sum * x + c[n];
    }
    sum
}

/// The same by fused multiply-adds.
#[inline(always)]
fn fused_polynomial<const N: usize>(x: f32, c: [f32; N], fma: &impl Fn(f32, f32, f32) -> f32) -> f32 {
    let mut sum = c[N - 1];
    for n in (0..N - 1).rev() {
        sum = fma(sum, x, c[n]);
    }
    sum
}

/// `x` within [low, high]; NaN stays.
#[inline(always)]
fn limit(x: f32, [low, high]: [f32; 2]) -> f32 {
    let x = if x > high { high } else { x };
    if x < low { low } else { x }
}

/// The integer nearest to a number below 2^22 in size: as a float, and as the bits of [`ROUND`] plus it.
#[inline(always)]
fn nearest(x: f32) -> (f32, u32) {
    let shifted = x + ROUND;
    (shifted - ROUND, shifted.to_bits())
}

/// `s`·2^k, for k given as the bits of [`ROUND`] plus it, |k| ≤ 160; zero where `vanishes`: multiplying with
/// zero is exact, while results below the smallest number cost CPUs a hundred cycles.
#[inline(always)]
fn scale(s: f32, k: u32, vanishes: bool) -> f32 {
    let k = k.wrapping_sub(ROUND.to_bits()) as i32;
    // In two steps: neither 2^128 nor 2^-150 is a number.
    let half = k >> 1;
    let power = |k: i32| f32::from_bits(((k + 127) << EXPONENT) as u32);
    let rest = if vanishes { 0.0 } else { power(k - half) };
    s * power(half) * rest
}

/// 2^k, for k given as the bits of [`ROUND`] plus it, within the normal range.
#[inline(always)]
fn power_of_two(k: u32) -> f32 {
    f32::from_bits((k << EXPONENT).wrapping_add(ONE))
}

#[inline(always)]
fn magnitude(x: f32) -> f32 {
    f32::from_bits(x.to_bits() & !SIGN)
}

/// `x`, which has no sign, with that of another number.
#[inline(always)]
fn with_sign(x: f32, of: f32) -> f32 {
    f32::from_bits((x.to_bits() & !SIGN) | (of.to_bits() & SIGN))
}

/// e^x; `fma` is a·b + c, rounded once.
#[inline(always)]
pub(super) fn exp(x: f32, fma: impl Fn(f32, f32, f32) -> f32) -> f32 {
    let limited = limit(x, EXP_LIMITS);
    let (n, k) = nearest(limited * LOG2_E);
    // Exact: a multiple of 2^-25 and below 1/2, or `x`. What it lacks is added where it counts.
    let high = fma(-n, LN_2, limited);
    let low = n * -LN_2_REST;
    let r = high + low;
    let tail = fma(r * r, fused_polynomial(r, EXP, &fma), low);
    scale(1.0 + (high + tail), k, x < EXP_VANISHES)
}

/// 2^x; `fma` is a·b + c, rounded once.
#[inline(always)]
pub(super) fn exp2(x: f32, fma: impl Fn(f32, f32, f32) -> f32) -> f32 {
    let limited = limit(x, EXP2_LIMITS);
    let (n, k) = nearest(limited);
    let r = limited - n;
    let slope = fma(r, fused_polynomial(r, EXP2, &fma), LN_2);
    scale(fma(r, slope, 1.0), k, x <= EXP2_VANISHES)
}

/// A positive finite x as (k, f) with x = 2^k·(1 + f) and 1 + f within [√½, √2).
#[inline(always)]
fn split(x: f32) -> (f32, f32) {
    let is_subnormal = x < f32::MIN_POSITIVE;
    let (x, less) = if is_subnormal {
        (x * 8388608.0, 23.0)
    } else {
        (x, 0.0)
    };
    // Biased so that the exponent field changes at √½ of each power of two.
    let shifted = x
        .to_bits()
        .wrapping_sub(std::f32::consts::FRAC_1_SQRT_2.to_bits())
        .wrapping_add(ONE);
    let exponent = shifted >> EXPONENT;
    let m = f32::from_bits(x.to_bits().wrapping_sub(exponent << EXPONENT).wrapping_add(ONE));
    ((exponent as i32 - 127) as f32 - less, m - 1.0)
}

/// Gives a logarithm its values outside the positive finite numbers.
#[inline(always)]
fn log_specials(x: f32, finite: f32) -> f32 {
    let value = if x == f32::INFINITY { f32::INFINITY } else { finite };
    let value = if x == 0.0 { f32::NEG_INFINITY } else { value };
    // Also true of NaN.
    if x >= 0.0 { value } else { f32::NAN }
}

/// Natural logarithm.
#[inline(always)]
pub(super) fn log(x: f32) -> f32 {
    let (k, f) = split(x);
    let half_square = 0.5 * f * f;
    let tail = f * f * f * polynomial(f, LOG);
    let whole = k * LN_2_HIGH;
    let head = whole + f;
    let lost = f - (head - whole);
    log_specials(x, head + ((lost + (tail + k * LN_2_LOW)) - half_square))
}

/// Logarithm to base 2.
#[inline(always)]
pub(super) fn log2(x: f32) -> f32 {
    /// 1/ln 2 in two parts, the first of 12 bits.
    const HIGH: f32 = 1.4428711;
    const LOW: f32 = (std::f64::consts::LOG2_E - 1.44287109375) as f32;
    let (k, f) = split(x);
    let half_square = 0.5 * f * f;
    let tail = f * f * f * polynomial(f, LOG);
    // The logarithm of 1 + f in two parts, the first of 12 bits: its product with HIGH is exact.
    let ln_high = f32::from_bits((f - half_square).to_bits() & 0xffff_f000);
    let ln_low = ((f - ln_high) - half_square) + tail;
    let high = ln_high * HIGH;
    let low = (ln_low + ln_high) * LOW + ln_low * HIGH;
    let head = k + high;
    let lost = high - (head - k);
    log_specials(x, head + (low + lost))
}

/// Hyperbolic tangent.
#[inline(always)]
pub(super) fn tanh(x: f32) -> f32 {
    let size = magnitude(x);
    let square = size * size;
    let small = size + size * (square * polynomial(square, TANH));
    // 1 − 2/(e^2x + 1). From 9.02 on it rounds to 1.
    let double = 2.0 * limit(size, [0.0, 9.5]);
    let (n, k) = nearest(double * LOG2_E);
    let r = (double - n * LN_2_HIGH) - n * LN_2_LOW;
    let power = power_of_two(k);
    let excess = power * (r + r * r * polynomial(r, EXP));
    let above = power + 1.0;
    let divisor = above + excess;
    let lost = excess - (divisor - above);
    let q = 2.0 / divisor;
    let head = 1.0 - q;
    let rest = ((1.0 - head) - q) + 0.5 * lost * q * q;
    with_sign(if size < 0.7 { small } else { head + rest }, x)
}

/// Error function; `fma` is a·b + c, rounded once.
#[inline(always)]
pub(super) fn erf(x: f32, fma: impl Fn(f32, f32, f32) -> f32) -> f32 {
    let size = magnitude(x);
    let small = fma(size, fused_polynomial(size * size, ERF, &fma), size);
    // 1 − 2^t. From 3.92 on it rounds to 1.
    let t = fused_polynomial(limit(size, [0.0, 4.0]) - 1.0, LOG2_ERFC, &fma);
    let (n, k) = nearest(t);
    let r = t - n;
    let power = power_of_two(k);
    let excess = r * fma(r, fused_polynomial(r, EXP2, &fma), LN_2);
    let large = fma(-power, excess, 1.0 - power);
    with_sign(if size < ERF_TURNS { small } else { large }, x)
}
