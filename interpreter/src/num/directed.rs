//! Rounding in a direction: CUDA's `_rz`, `_rd` and `_ru` forms.
//!
//! A result is first formed in f64, exactly or rounded to odd (inexact results have their last bit set), so
//! that rounding it to f32 in any direction rounds the exact result.

use super::float::{Canonical, StoredFloat};
use super::int::ToFloat;
use super::math::fma_odd;

/// A direction of rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Toward {
    /// `_rz`
    Zero,
    /// `_rd`
    Down,
    /// `_ru`
    Up,
}

/// An f64 as an f32.
pub(super) fn round(x: f64, toward: Toward) -> f32 {
    let near = f32::from_f64(x);
    let (value, negative) = (f64::from(near), x.is_sign_negative());
    let too_high = value > x;
    let too_low = value < x;
    let rounded = match toward {
        Toward::Zero if too_high && !negative => near.next_down(),
        Toward::Zero if too_low && negative => near.next_up(),
        Toward::Down if too_high => near.next_down(),
        Toward::Up if too_low => near.next_up(),
        _ => near,
    };
    // Stepping through zero loses the sign of an underflow.
    if rounded == 0.0 {
        rounded.copysign(x as f32)
    } else {
        rounded
    }
}

/// The sign of a sum that is exactly zero: `a + b` with `a = -b`, or two zeros.
fn zero_sum(a_negative: bool, b_negative: bool, toward: Toward) -> f32 {
    let negative = if a_negative == b_negative {
        a_negative
    } else {
        toward == Toward::Down
    };
    if negative { -0.0 } else { 0.0 }
}

/// `a * b + c`.
pub(super) fn fma(a: f32, b: f32, c: f32, toward: Toward) -> f32 {
    let sum = fma_odd(a, b, c);
    if sum == 0.0 {
        return zero_sum(
            a.is_sign_negative() != b.is_sign_negative(),
            c.is_sign_negative(),
            toward,
        );
    }
    round(sum, toward)
}

/// `a + b`.
pub(super) fn add(a: f32, b: f32, toward: Toward) -> f32 {
    fma(a, 1.0, b, toward)
}

/// `a * b`: exact in f64.
pub(super) fn mul(a: f32, b: f32, toward: Toward) -> f32 {
    round(f64::from(a) * f64::from(b), toward)
}

/// Sets the last bit of an inexact `x`, whose exact value is above it (`error` > 0) or below.
fn odd(x: f64, error: f64) -> f64 {
    let bits = x.to_bits();
    let away = (error > 0.0) == (x > 0.0);
    let inexact = error.abs() > 0.0 && x.is_finite() && x != 0.0;
    f64::from_bits(match inexact && bits & 1 == 0 {
        true if away => bits + 1,
        true => bits - 1,
        false => bits,
    })
}

/// `a / b`.
pub(super) fn div(a: f32, b: f32, toward: Toward) -> f32 {
    let (a, b) = (f64::from(a), f64::from(b));
    let quotient = a / b;
    // a - quotient·b, exact in sign; the quotient is short of the exact one by that over b.
    let remainder = libm::fma(-quotient, b, a);
    round(
        odd(quotient, if b < 0.0 { -remainder } else { remainder }),
        toward,
    )
}

/// √x.
pub(super) fn sqrt(x: f32, toward: Toward) -> f32 {
    let x = f64::from(x);
    let root = x.sqrt();
    round(odd(root, libm::fma(-root, root, x)), toward).canonical()
}

/// An integer as an f32.
pub(super) fn int_to_f32<T: ToFloat>(x: T, toward: Toward) -> f32 {
    round(x.to_f64_sticky(), toward)
}

/// A 64-bit integer, signed or unsigned, as an f64.
pub(super) fn int_to_f64(x: i128, toward: Toward) -> f64 {
    // At most 65 bits: the nearest f64 is an integer that an i128 holds.
    let near = x as f64;
    let too_high = near as i128 > x;
    let too_low = (near as i128) < x;
    match toward {
        Toward::Down if too_high => near.next_down(),
        Toward::Up if too_low => near.next_up(),
        Toward::Zero if too_high && x > 0 => near.next_down(),
        Toward::Zero if too_low && x < 0 => near.next_up(),
        _ => near,
    }
}

#[cfg(test)]
mod tests {
    use super::{Toward, add, div, fma, int_to_f64, mul, round, sqrt};

    const EPSILON: f64 = f32::EPSILON as f64;

    #[test]
    fn rounding_an_f64() {
        let above = 1.0 + EPSILON / 4.0;
        let both = |x: f64| [Toward::Zero, Toward::Down, Toward::Up].map(|t| round(x, t));
        assert_eq!(both(above), [1.0, 1.0, 1.0 + f32::EPSILON]);
        assert_eq!(both(-above), [-1.0, -1.0 - f32::EPSILON, -1.0]);
        assert_eq!(both(1e300), [f32::MAX, f32::MAX, f32::INFINITY]);
        assert_eq!(both(-1e300), [f32::MIN, f32::NEG_INFINITY, f32::MIN]);
        let tiny = f32::from_bits(1);
        assert_eq!(both(1e-300), [0.0, 0.0, tiny]);
        assert_eq!(both(-1e-300), [-0.0, -tiny, -0.0]);
        assert!(round(-1e-300, Toward::Up).is_sign_negative());
        assert_eq!(both(f64::INFINITY), [f32::INFINITY; 3]);
        assert_eq!(round(f64::NAN, Toward::Down).to_bits(), 0x7fff_ffff);
    }

    #[test]
    fn operations_bracket_the_exact_result() {
        let values = [1.0f32, 3.0, -7.0, 0.1, 1e-30, -1e30, 16777216.0, 1.5e-40];
        for a in values {
            for b in values {
                let (x, y) = (f64::from(a), f64::from(b));
                // Rational comparisons: the quotient against a by multiplying, in f64 without error here.
                let (low, high) = (div(a, b, Toward::Down), div(a, b, Toward::Up));
                let exact = x / y;
                assert!(f64::from(low) <= exact && exact <= f64::from(high), "{a} / {b}");
                assert!(low == high || low.next_up() == high, "{a} / {b}");
                let (low, high) = (mul(a, b, Toward::Down), mul(a, b, Toward::Up));
                assert!(f64::from(low) <= x * y && x * y <= f64::from(high), "{a} * {b}");
                assert!(low == high || low.next_up() == high, "{a} * {b}");
                let (low, high) = (add(a, b, Toward::Down), add(a, b, Toward::Up));
                assert!(low == high || low.next_up() == high, "{a} + {b}");
                assert!(low <= a + b && a + b <= high, "{a} + {b}");
            }
            if a > 0.0 {
                let (low, high) = (sqrt(a, Toward::Down), sqrt(a, Toward::Up));
                assert!(f64::from(low) * f64::from(low) <= f64::from(a));
                assert!(f64::from(high) * f64::from(high) >= f64::from(a));
            }
        }
        assert_eq!(div(1.0, 3.0, Toward::Zero), 1.0f32 / 3.0 - f32::EPSILON / 4.0);
        assert_eq!(add(1.0, 1e-30, Toward::Up), 1.0 + f32::EPSILON);
        assert_eq!(add(1.0, -1e-30, Toward::Zero), 1.0 - f32::EPSILON / 2.0);
        assert!(add(2.0, -2.0, Toward::Down).is_sign_negative());
        assert!(fma(2.0, -1.0, 2.0, Toward::Zero).is_sign_positive());
        assert_eq!(sqrt(-1.0, Toward::Up).to_bits(), 0x7fff_ffff);
        assert_eq!(div(1.0, 0.0, Toward::Zero), f32::INFINITY);
    }

    #[test]
    fn large_integers() {
        let x = (1i128 << 60) + 1;
        let near = (1u64 << 60) as f64;
        assert_eq!(int_to_f64(x, Toward::Up), near.next_up());
        assert_eq!(int_to_f64(x, Toward::Zero), near);
        assert_eq!(int_to_f64(-x, Toward::Down), -near.next_up());
        assert_eq!(
            int_to_f64(i128::from(u64::MAX), Toward::Down),
            (u64::MAX as f64).next_down()
        );
    }
}
