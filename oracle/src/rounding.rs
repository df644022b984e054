//! Values as a dtype holds them: float64 rounded once to a narrower type.
//!
//! Conversions follow the interpreter's: floats to nearest even, fp8 saturating (finite and infinite
//! alike), floats to integers toward zero and saturating with NaN as 0, integers to integers by
//! wrapping around.

use tilescope_launch::Dtype;

/// `x` rounded to a float dtype, as float64; other dtypes leave it as it is.
pub(crate) fn round_float(x: f64, dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F32 => f64::from(x as f32),
        Dtype::F16 => round_to(
            x,
            Format {
                precision: 11,
                smallest: -14,
                largest: 65504.0,
                saturates: false,
            },
        ),
        Dtype::BF16 => {
            let largest = f64::from(f32::from_bits(0x7f7f_0000));
            round_to(
                x,
                Format {
                    precision: 8,
                    smallest: -126,
                    largest,
                    saturates: false,
                },
            )
        }
        Dtype::F8E4M3 => round_to(
            x,
            Format {
                precision: 4,
                smallest: -6,
                largest: 448.0,
                saturates: true,
            },
        ),
        Dtype::F8E5M2 => round_to(
            x,
            Format {
                precision: 3,
                smallest: -14,
                largest: 57344.0,
                saturates: true,
            },
        ),
        _ => x,
    }
}

/// A binary float format narrower than float64.
struct Format {
    /// Significant bits, the hidden one included.
    precision: i32,
    /// Exponent of the smallest normal number.
    smallest: i32,
    /// Largest finite value.
    largest: f64,
    /// Beyond the largest value: that value, instead of infinity.
    saturates: bool,
}

fn round_to(x: f64, format: Format) -> f64 {
    if x.is_nan() || x == 0.0 {
        return x;
    }
    let beyond = if format.saturates {
        format.largest
    } else {
        f64::INFINITY
    };
    if x.is_infinite() {
        return beyond.copysign(x);
    }
    let exponent = ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    // A power of two, so that dividing and multiplying by it is exact.
    let quantum = 2f64.powi(exponent.max(format.smallest) - format.precision + 1);
    let rounded = (x / quantum).round_ties_even() * quantum;
    if rounded.abs() > format.largest {
        beyond.copysign(x)
    } else {
        rounded
    }
}

/// Bits and signedness of an integer dtype; none for floats and `i1`.
fn integer(dtype: Dtype) -> Option<(u32, bool)> {
    Some(match dtype {
        Dtype::I8 => (8, true),
        Dtype::I16 => (16, true),
        Dtype::I32 => (32, true),
        Dtype::I64 => (64, true),
        Dtype::U8 => (8, false),
        Dtype::U16 => (16, false),
        Dtype::U32 => (32, false),
        Dtype::U64 => (64, false),
        _ => return None,
    })
}

/// True for integer dtypes and `i1`.
pub(crate) fn is_integer(dtype: Dtype) -> bool {
    dtype == Dtype::I1 || integer(dtype).is_some()
}

/// `x` converted to an integer dtype (`i1`: whether it is not zero); floats give 0.
pub(crate) fn float_to_integer(x: f64, dtype: Dtype) -> i128 {
    match (dtype, integer(dtype)) {
        (Dtype::I1, _) => i128::from(x != 0.0),
        (_, Some((bits, true))) => (x as i128).clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        (_, Some((bits, false))) => (x as i128).clamp(0, (1 << bits) - 1),
        _ => 0,
    }
}

/// `x` wrapped around to an integer dtype (`i1`: whether it is not zero); floats leave it as it is.
pub(crate) fn wrap_integer(x: i128, dtype: Dtype) -> i128 {
    match (dtype, integer(dtype)) {
        (Dtype::I1, _) => i128::from(x != 0),
        (_, Some((bits, true))) => (x << (128 - bits)) >> (128 - bits),
        (_, Some((bits, false))) => x & ((1 << bits) - 1),
        _ => x,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f16_rounds_once_and_to_even() {
        let f16 = |x| round_float(x, Dtype::F16);
        assert_eq!(f16(0.1), 0.0999755859375);
        assert_eq!(f16(2049.0), 2048.0);
        assert_eq!(f16(2051.0), 2052.0);
        // Just above a tie, by less than f32 can see: rounding through f32 would go down.
        assert_eq!(f16(2049.0 + 1e-9), 2050.0);
        assert_eq!(f16(65519.9), 65504.0);
        assert_eq!(f16(-65520.0), f64::NEG_INFINITY);
        assert_eq!(f16(2f64.powi(-25)), 0.0);
        assert_eq!(f16(2f64.powi(-25) * 1.01), 2f64.powi(-24));
        assert!(f16(f64::NAN).is_nan());
    }

    #[test]
    fn other_formats_have_their_limits() {
        assert_eq!(round_float(1.00390625, Dtype::BF16), 1.0);
        assert_eq!(round_float(1.01171875, Dtype::BF16), 1.015625);
        assert_eq!(round_float(3.4e38, Dtype::BF16), f64::INFINITY);
        assert_eq!(round_float(500.0, Dtype::F8E4M3), 448.0);
        assert_eq!(round_float(f64::NEG_INFINITY, Dtype::F8E5M2), -57344.0);
        assert_eq!(round_float(2f64.powi(-9), Dtype::F8E4M3), 2f64.powi(-9));
        assert_eq!(round_float(2f64.powi(-10), Dtype::F8E4M3), 0.0);
        assert_eq!(round_float(0.3, Dtype::F8E5M2), 0.3125);
        assert_eq!(round_float(0.1, Dtype::F32), f64::from(0.1f32));
        assert_eq!(round_float(0.1, Dtype::F64), 0.1);
    }

    #[test]
    fn integers_saturate_from_floats_and_wrap_from_integers() {
        assert_eq!(float_to_integer(-3.9, Dtype::I32), -3);
        assert_eq!(float_to_integer(1e30, Dtype::I32), i128::from(i32::MAX));
        assert_eq!(float_to_integer(-1.0, Dtype::U8), 0);
        assert_eq!(float_to_integer(f64::NAN, Dtype::I64), 0);
        assert_eq!(float_to_integer(1e30, Dtype::U64), i128::from(u64::MAX));
        assert_eq!(wrap_integer(300, Dtype::U8), 44);
        assert_eq!(wrap_integer(200, Dtype::I8), -56);
        assert_eq!(
            wrap_integer(i128::from(i64::MAX) + 1, Dtype::I64),
            i128::from(i64::MIN)
        );
        assert_eq!(wrap_integer(2, Dtype::I1), 1);
    }
}
