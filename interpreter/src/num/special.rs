//! Special functions of libdevice that the crate `libm` lacks, in f64.
//!
//! Good to a few ulp of f64 unless said otherwise, so that f32 results are rounded once.

use std::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};

/// 2/√π.
const TWO_OVER_SQRT_PI: f64 = std::f64::consts::FRAC_2_SQRT_PI;

/// sin(π·|x|) and cos(π·x), with the argument reduced exactly. NaN for infinities.
fn sin_cos_pi(x: f64) -> (f64, f64) {
    let x = libm::fmod(x.abs(), 2.0);
    // x = quarters/2 + rest, |rest| ≤ 1/4.
    let quarters = libm::rint(2.0 * x);
    let angle = PI * (x - quarters / 2.0);
    let (sin, cos) = (libm::sin(angle), libm::cos(angle));
    match quarters as i32 & 3 {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    }
}

/// sin(π·x); ±0 at integers, with the sign of x.
pub(super) fn sinpi(x: f64) -> f64 {
    let sin = sin_cos_pi(x).0;
    if sin == 0.0 {
        sin.copysign(x)
    } else if x < 0.0 {
        -sin
    } else {
        sin
    }
}

/// cos(π·x); +0 at halves.
pub(super) fn cospi(x: f64) -> f64 {
    sin_cos_pi(x).1 + 0.0
}

/// √(Σ v²) without overflow or underflow on the way. Infinite if a component is.
pub(super) fn norm<const N: usize>(v: [f64; N]) -> f64 {
    let largest = v
        .iter()
        .fold(0.0f64, |m, x| if x.abs() > m { x.abs() } else { m });
    if largest == 0.0 || largest == f64::INFINITY {
        return if largest == 0.0 && v.iter().any(|x| x.is_nan()) {
            f64::NAN
        } else {
            largest
        };
    }
    // Dividing by a power of two is exact.
    let exponent = libm::ilogb(largest);
    let sum = v.iter().fold(0.0, |sum, x| {
        let x = libm::ldexp(*x, -exponent);
        sum + x * x
    });
    libm::ldexp(sum.sqrt(), exponent)
}

/// 1/√(Σ v²).
pub(super) fn rnorm<const N: usize>(v: [f64; N]) -> f64 {
    // Scaled, so that a norm beyond the range still has a reciprocal.
    let scale = if v.iter().any(|x| x.abs() > 1e300) { -8 } else { 0 };
    libm::ldexp(1.0 / norm(v.map(|x| libm::ldexp(x, scale))), scale)
}

/// The exponent of x as a float: ⌊log2|x|⌋.
pub(super) fn logb(x: f64) -> f64 {
    if x == 0.0 {
        f64::NEG_INFINITY
    } else if x.is_finite() {
        f64::from(libm::ilogb(x))
    } else {
        x * x
    }
}

/// Φ(x), the distribution function of the normal distribution.
pub(super) fn normcdf(x: f64) -> f64 {
    let t = -x * FRAC_1_SQRT_2;
    // In the tail an error of t is magnified by 2t: what rounding t lost is put back.
    let lost = libm::fma(-x, FRAC_1_SQRT_2, -t) - x * -4.833646656726457e-17;
    let correction = if x.abs() < 40.0 {
        TWO_OVER_SQRT_PI * libm::exp(-t * t) * lost
    } else {
        0.0
    };
    0.5 * (libm::erfc(t) - correction)
}

/// e^(x²)·erfc(x). Good to 2^-40 only: for f32.
pub(super) fn erfcx(x: f64) -> f64 {
    if x < 10.0 {
        return libm::exp(x * x) * libm::erfc(x);
    }
    // Asymptotic: 1/(x√π) · Σ (-1)^n (2n-1)!! / (2x²)^n.
    let z = 0.5 / (x * x);
    let series = (1..=10)
        .rev()
        .fold(1.0, |sum, n| 1.0 - f64::from(2 * n - 1) * z * sum);
    0.5 * TWO_OVER_SQRT_PI / x * series
}

/// A first guess y of erf(y) = ±(1 − p) given p(2 − p), good to a few thousandths (Winitzki, *A handy
/// approximation for the error function and its inverse*, 2008).
fn guess_erfinv(product: f64) -> f64 {
    const A: f64 = 0.147;
    let log = libm::log(product);
    let t = 2.0 / (PI * A) + 0.5 * log;
    ((t * t - log / A).sqrt() - t).sqrt()
}

/// Inverse of erf: ±∞ at ±1, NaN outside.
pub(super) fn erfinv(x: f64) -> f64 {
    let p = 1.0 - x.abs();
    if p <= 0.5 {
        return tail_erfinv(p).copysign(x);
    }
    if x == 0.0 || x.is_nan() {
        return x;
    }
    let mut y = guess_erfinv(p * (1.0 + x.abs())).copysign(x);
    if x.abs() < 1e-4 {
        y = x / TWO_OVER_SQRT_PI;
    }
    for _ in 0..3 {
        y = halley(y, libm::erf(y) - x);
    }
    y
}

/// The y ≥ 0 with erfc(y) = p, for p ≤ 1/2; ∞ for 0, NaN below.
fn tail_erfinv(p: f64) -> f64 {
    if p == 0.0 {
        return f64::INFINITY;
    }
    if p < 0.0 || p.is_nan() {
        return f64::NAN;
    }
    let mut y = guess_erfinv(p * (2.0 - p));
    for _ in 0..4 {
        y = halley(y, p - libm::erfc(y));
    }
    y
}

/// One step of Halley's method for erf(y) = target, given the error `erf(y) - target`.
fn halley(y: f64, error: f64) -> f64 {
    let step = error / (TWO_OVER_SQRT_PI * libm::exp(-y * y));
    y - step / (1.0 + y * step)
}

/// Inverse of erfc, on [0, 2].
pub(super) fn erfcinv(x: f64) -> f64 {
    if x <= 0.5 {
        tail_erfinv(x)
    } else if x >= 1.5 {
        -tail_erfinv(2.0 - x)
    } else {
        erfinv(1.0 - x)
    }
}

/// Inverse of Φ, on [0, 1].
pub(super) fn normcdfinv(p: f64) -> f64 {
    0.0 - SQRT_2 * erfcinv(2.0 * p)
}

/// Σ over k ≥ 0 of (x/2)^(2k) / (k! (k+order)!): a modified Bessel function up to its power of x/2.
fn bessel_i_series(x: f64, order: f64) -> f64 {
    let z = x * x / 4.0;
    let mut term = 1.0;
    let mut sum = 1.0;
    for k in 1..100 {
        term *= z / (f64::from(k) * (f64::from(k) + order));
        sum += term;
    }
    sum
}

/// e^x/√(2πx) times the asymptotic series of a modified Bessel function, for x ≥ 25.
fn bessel_i_asymptotic(x: f64, order: f64) -> f64 {
    let mu = 4.0 * order * order;
    let mut term = 1.0;
    let mut sum = 1.0;
    for k in 1..30 {
        let odd = f64::from(2 * k - 1);
        term *= -(mu - odd * odd) / (f64::from(k) * 8.0 * x);
        sum += term;
    }
    // In two halves: e^x overflows before the function does.
    let half = libm::exp(x / 2.0);
    half * (half / (2.0 * PI * x).sqrt() * sum)
}

/// Modified Bessel function of the first kind, order 0.
pub(super) fn bessel_i0(x: f64) -> f64 {
    let x = x.abs();
    if x == f64::INFINITY {
        x
    } else if x < 25.0 {
        bessel_i_series(x, 0.0)
    } else {
        bessel_i_asymptotic(x, 0.0)
    }
}

/// Modified Bessel function of the first kind, order 1.
pub(super) fn bessel_i1(x: f64) -> f64 {
    let size = x.abs();
    let value = if size == f64::INFINITY {
        size
    } else if size < 25.0 {
        size / 2.0 * bessel_i_series(size, 1.0)
    } else {
        bessel_i_asymptotic(size, 1.0)
    };
    value.copysign(x)
}
