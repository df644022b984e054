//! Values as a dtype holds them: float64 rounded once to a narrower type.
//!
//! Conversions follow the interpreter's: floats to nearest even, fp8 saturating (finite and infinite
//! alike), floats to integers toward zero and saturating with NaN as 0, integers to integers by
//! wrapping around.

use tilescope_launch::Dtype;

/// `x` rounded to a float dtype, as float64; other dtypes leave it as it is.
pub(crate) fn round_float(x: f64, dtype: Dtype) -> f64 {
    if dtype.is_float() {
        dtype.decode_float(dtype.encode_float(x))
    } else {
        x
    }
}

/// `x` converted to an integer dtype (`i1`: whether it is not zero); floats give 0.
pub(crate) fn float_to_integer(x: f64, dtype: Dtype) -> i128 {
    match dtype.integer_range() {
        _ if dtype == Dtype::I1 => i128::from(x != 0.0),
        Some((least, most)) => (x as i128).clamp(least, most),
        None => 0,
    }
}

/// `x` wrapped around to an integer dtype (`i1`: whether it is not zero); floats leave it as it is.
pub(crate) fn wrap_integer(x: i128, dtype: Dtype) -> i128 {
    dtype.decode_int(dtype.encode_int(x)).unwrap_or(x)
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
