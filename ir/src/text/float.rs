//! Float constants: decimal text to bits and back, for every float type of the IR.
//!
//! As in MLIR, a decimal literal is read as binary64 and then rounded to the type, to nearest even.
//! Infinities and NaN are written as the hexadecimal bits. A printed value always reads back to the
//! same bits.

use crate::types::Scalar;
use std::fmt::Write;

/// Layout of a float type of at most 32 bits, or none for f64.
struct Format {
    mantissa: u32,
    bias: i32,
    /// Largest finite magnitude, as bits without sign.
    max: u64,
    /// Bits of infinity, or of NaN where there is no infinity.
    overflow: u64,
    /// Bits of the quiet NaN.
    nan: u64,
    /// Negative zero exists.
    negative_zero: bool,
}

fn format(scalar: Scalar) -> Option<Format> {
    let ieee = |mantissa: u32, exponent: u32| {
        let infinity = ((1u64 << exponent) - 1) << mantissa;
        Format {
            mantissa,
            bias: (1 << (exponent - 1)) - 1,
            max: infinity - 1,
            overflow: infinity,
            nan: infinity | 1 << (mantissa - 1),
            negative_zero: true,
        }
    };
    let no_negative_zero = |mantissa: u32, bias: i32| Format {
        mantissa,
        bias,
        max: 0x7f,
        overflow: 0x80,
        nan: 0x80,
        negative_zero: false,
    };
    match scalar {
        Scalar::F32 => Some(ieee(23, 8)),
        Scalar::BF16 => Some(ieee(7, 8)),
        Scalar::F16 => Some(ieee(10, 5)),
        Scalar::F8E5M2 => Some(ieee(2, 5)),
        Scalar::F8E4M3FN => Some(Format {
            mantissa: 3,
            bias: 7,
            max: 0x7e,
            overflow: 0x7f,
            nan: 0x7f,
            negative_zero: true,
        }),
        Scalar::F8E4M3B11FNUZ => Some(no_negative_zero(3, 11)),
        Scalar::F8E4M3FNUZ => Some(no_negative_zero(3, 8)),
        Scalar::F8E5M2FNUZ => Some(no_negative_zero(2, 16)),
        _ => None,
    }
}

/// The bits of a value in a float type, rounded to nearest even.
pub(crate) fn to_bits(value: f64, scalar: Scalar) -> u64 {
    let Some(f) = format(scalar) else {
        return value.to_bits();
    };
    let sign = u64::from(value.is_sign_negative()) << (scalar.bits() - 1);
    if value.is_nan() {
        return f.nan | if f.negative_zero { sign } else { 0 };
    }
    let magnitude = round(value.abs(), &f);
    if magnitude > f.max {
        return f.overflow | if f.negative_zero { sign } else { 0 };
    }
    if magnitude == 0 && !f.negative_zero {
        return 0;
    }
    sign | magnitude
}

/// Magnitude bits of a non-negative value; above `max` on overflow.
fn round(value: f64, f: &Format) -> u64 {
    if value.is_infinite() {
        return u64::MAX;
    }
    let bits = value.to_bits();
    let exponent = (bits >> 52) as i32 - 1023;
    if bits >> 52 == 0 {
        return 0; // zero and binary64 subnormals, far below every other type
    }
    let fraction = (bits & ((1 << 52) - 1)) | 1 << 52;
    let lowest = 1 - f.bias;
    let subnormal = exponent < lowest;
    // Bits of the 53-bit fraction that do not fit.
    let drop = 52 - f.mantissa as i32 + if subnormal { lowest - exponent } else { 0 };
    if drop > 54 {
        return 0;
    }
    let kept = if drop > 63 { 0 } else { fraction >> drop };
    let rest = fraction & ((1u64 << drop) - 1);
    let half = 1u64 << (drop - 1);
    let up = rest > half || rest == half && kept & 1 == 1;
    let kept = kept + u64::from(up);
    if subnormal {
        return kept;
    }
    let biased = (exponent + f.bias - 1) as u64; // the hidden bit of `kept` adds the last 1
    (biased << f.mantissa) + kept
}

/// The exact value of bits; none for infinities and NaN.
pub(super) fn from_bits(bits: u64, scalar: Scalar) -> Option<f64> {
    let Some(f) = format(scalar) else {
        let value = f64::from_bits(bits);
        return value.is_finite().then_some(value);
    };
    let sign_bit = 1u64 << (scalar.bits() - 1);
    if !f.negative_zero && bits == f.nan {
        return None;
    }
    let magnitude = bits & (sign_bit - 1);
    if magnitude > f.max {
        return None;
    }
    let exponent = (magnitude >> f.mantissa) as i32;
    let fraction = (magnitude & ((1 << f.mantissa) - 1)) as f64;
    let unit = f64::from(f.mantissa as i32);
    let value = if exponent == 0 {
        fraction * 2f64.powi(1 - f.bias) * 2f64.powf(-unit)
    } else {
        (1.0 + fraction * 2f64.powf(-unit)) * 2f64.powi(exponent - f.bias)
    };
    Some(if bits & sign_bit != 0 { -value } else { value })
}

/// Writes a constant in the style of MLIR (which truncates digits where this rounds).
pub(super) fn print(out: &mut String, bits: u64, scalar: Scalar) {
    let start = out.len();
    if let Some(value) = from_bits(bits, scalar) {
        exponential(out, value, 6);
        if reads_back(&out[start..], bits, scalar) {
            return;
        }
        out.truncate(start);
        shortest(out, value, scalar);
        if out[start..].contains('.') && reads_back(&out[start..], bits, scalar) {
            return;
        }
        out.truncate(start);
    }
    let _ = write!(out, "0x{bits:X}");
}

fn reads_back(text: &str, bits: u64, scalar: Scalar) -> bool {
    text.parse().is_ok_and(|v| to_bits(v, scalar) == bits)
}

/// `1.500000e+00`: a sign and two digits at least in the exponent.
fn exponential(out: &mut String, value: f64, digits: usize) {
    let text = format!("{value:.digits$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    let _ = write!(out, "{mantissa}e{sign}{:02}", exponent.unsigned_abs());
}

/// The digits that tell the value apart in its type, positional where that stays short.
fn shortest(out: &mut String, value: f64, scalar: Scalar) {
    let precision = match format(scalar) {
        Some(f) => f.mantissa as usize + 1,
        None => 53,
    };
    let digits = 2 + precision * 59 / 196;
    let text = format!("{:.*e}", digits - 1, value.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let all: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let all = match all.trim_end_matches('0') {
        "" => "0",
        digits => digits,
    };
    if value.is_sign_negative() {
        out.push('-');
    }
    let count = all.len() as i32;
    let _ = match exponent {
        0.. if exponent < count - 1 => {
            let (whole, part) = all.split_at(exponent as usize + 1);
            write!(out, "{whole}.{part}")
        }
        -3..0 => write!(out, "0.{}{all}", "0".repeat((-exponent - 1) as usize)),
        _ => {
            let (first, rest) = all.split_at(1);
            let sign = if exponent < 0 { '-' } else { '+' };
            write!(
                out,
                "{first}.{}E{sign}{}",
                if rest.is_empty() { "0" } else { rest },
                exponent.unsigned_abs()
            )
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: [Scalar; 7] = [
        Scalar::F8E4M3FN,
        Scalar::F8E5M2,
        Scalar::F8E4M3B11FNUZ,
        Scalar::F8E4M3FNUZ,
        Scalar::F8E5M2FNUZ,
        Scalar::F16,
        Scalar::BF16,
    ];

    fn printed(bits: u64, scalar: Scalar) -> String {
        let mut out = String::new();
        print(&mut out, bits, scalar);
        out
    }

    #[test]
    fn every_small_float_survives_its_text() {
        for scalar in SMALL {
            for bits in 0..1u64 << scalar.bits() {
                let text = printed(bits, scalar);
                let back = match text.strip_prefix("0x") {
                    Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
                    None => to_bits(text.parse().unwrap(), scalar),
                };
                assert_eq!(back, bits, "{scalar} {text}");
            }
        }
    }

    #[test]
    fn rounding_agrees_with_the_hardware() {
        let mut seed = 0x9e37_79b9_7f4a_7c15u64;
        for _ in 0..200_000 {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            let value = f64::from_bits(seed);
            if !value.is_nan() {
                assert_eq!(
                    to_bits(value, Scalar::F32),
                    u64::from((value as f32).to_bits()),
                    "{value:e}"
                );
            }
            let near = f64::from(f32::from_bits(seed as u32)) * (1.0 + f64::EPSILON * 1e8);
            if !near.is_nan() {
                assert_eq!(
                    to_bits(near, Scalar::F32),
                    u64::from((near as f32).to_bits()),
                    "{near:e}"
                );
            }
        }
    }

    #[test]
    fn text_is_short_and_exact() {
        let f32 = |v: f32| printed(u64::from(v.to_bits()), Scalar::F32);
        assert_eq!(f32(0.0), "0.000000e+00");
        assert_eq!(f32(-1.5), "-1.500000e+00");
        assert_eq!(f32(std::f32::consts::FRAC_1_SQRT_2), "0.707106769");
        assert_eq!(f32(1e-5), "1.000000e-05");
        assert_eq!(f32(f32::NEG_INFINITY), "0xFF800000");
        assert_eq!(f32(std::f32::consts::PI), "3.14159274");
        assert_eq!(printed(0x7e00, Scalar::F16), "0x7E00");
    }
}
