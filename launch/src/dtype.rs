//! Element types: names, sizes, and the conversion of numbers to and from their bits.
//!
//! Floats round to nearest even, once. As on the card, both fp8 types saturate (a value beyond the
//! largest, an infinity too, becomes the largest); f16 and bf16 overflow to infinity.

use tilescope_ir::Scalar;

use crate::Dtype;

impl Dtype {
    /// All of them, in the order of the format's description.
    pub const ALL: [Dtype; 15] = [
        Dtype::I1,
        Dtype::I8,
        Dtype::I16,
        Dtype::I32,
        Dtype::I64,
        Dtype::U8,
        Dtype::U16,
        Dtype::U32,
        Dtype::U64,
        Dtype::F8E4M3,
        Dtype::F8E5M2,
        Dtype::F16,
        Dtype::BF16,
        Dtype::F32,
        Dtype::F64,
    ];

    /// The name in launch files and reports, for example `f16`.
    pub fn name(self) -> &'static str {
        match self {
            Dtype::I1 => "i1",
            Dtype::I8 => "i8",
            Dtype::I16 => "i16",
            Dtype::I32 => "i32",
            Dtype::I64 => "i64",
            Dtype::U8 => "u8",
            Dtype::U16 => "u16",
            Dtype::U32 => "u32",
            Dtype::U64 => "u64",
            Dtype::F8E4M3 => "f8e4m3",
            Dtype::F8E5M2 => "f8e5m2",
            Dtype::F16 => "f16",
            Dtype::BF16 => "bf16",
            Dtype::F32 => "f32",
            Dtype::F64 => "f64",
        }
    }

    /// The element type of tensors that a pointer to `scalar` leads to; none for types that tensors do not have.
    pub fn of_scalar(scalar: Scalar) -> Option<Dtype> {
        Some(match scalar {
            Scalar::I1 => Dtype::I1,
            Scalar::I8 => Dtype::I8,
            Scalar::I16 => Dtype::I16,
            Scalar::I32 => Dtype::I32,
            Scalar::I64 => Dtype::I64,
            Scalar::F8E4M3FN => Dtype::F8E4M3,
            Scalar::F8E5M2 => Dtype::F8E5M2,
            Scalar::F16 => Dtype::F16,
            Scalar::BF16 => Dtype::BF16,
            Scalar::F32 => Dtype::F32,
            Scalar::F64 => Dtype::F64,
            Scalar::I4
            | Scalar::I128
            | Scalar::Index
            | Scalar::F8E4M3B11FNUZ
            | Scalar::F8E4M3FNUZ
            | Scalar::F8E5M2FNUZ => return None,
        })
    }

    /// The type of that name: ours, Triton's (`fp16`, `int32`, `fp8e4nv`, with or without `tl.`), or
    /// PyTorch's (`float16`, `bfloat16`, `float8_e4m3fn`).
    pub fn from_name(name: &str) -> Option<Dtype> {
        let name = name
            .strip_prefix("tl.")
            .or(name.strip_prefix("torch."))
            .unwrap_or(name);
        Some(match name {
            "i1" | "int1" | "bool" => Dtype::I1,
            "i8" | "int8" => Dtype::I8,
            "i16" | "int16" => Dtype::I16,
            "i32" | "int32" => Dtype::I32,
            "i64" | "int64" => Dtype::I64,
            "u8" | "uint8" => Dtype::U8,
            "u16" | "uint16" => Dtype::U16,
            "u32" | "uint32" => Dtype::U32,
            "u64" | "uint64" => Dtype::U64,
            "f8e4m3" | "fp8e4nv" | "float8e4nv" | "f8E4M3FN" | "float8_e4m3fn" => Dtype::F8E4M3,
            "f8e5m2" | "fp8e5" | "float8e5" | "f8E5M2" | "float8_e5m2" => Dtype::F8E5M2,
            "f16" | "fp16" | "float16" => Dtype::F16,
            "bf16" | "bfloat16" => Dtype::BF16,
            "f32" | "fp32" | "float32" => Dtype::F32,
            "f64" | "fp64" | "float64" => Dtype::F64,
            _ => return None,
        })
    }

    /// The name that someone may have meant who wrote another library's: `double`, `half`, `fp8`.
    pub(crate) fn near_name(name: &str) -> Option<&'static str> {
        Some(match name {
            "float" | "single" => "f32",
            "half" => "f16",
            "double" => "f64",
            "fp8" | "float8" | "f8" | "e4m3" | "float8_e4m3" => "f8e4m3",
            "e5m2" => "f8e5m2",
            "boolean" => "i1",
            "char" => "i8",
            "byte" => "u8",
            "short" => "i16",
            "int" => "i32",
            "uint" => "u32",
            "long" => "i64",
            "ulong" => "u64",
            _ => return None,
        })
    }

    /// Bytes of one element in memory.
    pub fn bytes(self) -> usize {
        match self {
            Dtype::I1 | Dtype::I8 | Dtype::U8 | Dtype::F8E4M3 | Dtype::F8E5M2 => 1,
            Dtype::I16 | Dtype::U16 | Dtype::F16 | Dtype::BF16 => 2,
            Dtype::I32 | Dtype::U32 | Dtype::F32 => 4,
            Dtype::I64 | Dtype::U64 | Dtype::F64 => 8,
        }
    }

    /// True for the float types.
    pub fn is_float(self) -> bool {
        self.float_format().is_some() || matches!(self, Dtype::F32 | Dtype::F64)
    }

    /// Smallest and largest value of an integer type.
    pub fn integer_range(self) -> Option<(i128, i128)> {
        Some(match self {
            Dtype::I1 => (0, 1),
            Dtype::I8 => (i8::MIN.into(), i8::MAX.into()),
            Dtype::I16 => (i16::MIN.into(), i16::MAX.into()),
            Dtype::I32 => (i32::MIN.into(), i32::MAX.into()),
            Dtype::I64 => (i64::MIN.into(), i64::MAX.into()),
            Dtype::U8 => (0, u8::MAX.into()),
            Dtype::U16 => (0, u16::MAX.into()),
            Dtype::U32 => (0, u32::MAX.into()),
            Dtype::U64 => (0, u64::MAX.into()),
            _ => return None,
        })
    }

    fn float_format(self) -> Option<FloatFormat> {
        let (exponent_bits, mantissa_bits, overflow) = match self {
            Dtype::F8E4M3 => (4, 3, 0x7e),
            Dtype::F8E5M2 => (5, 2, 0x7b),
            Dtype::F16 => (5, 10, 0x7c00),
            Dtype::BF16 => (8, 7, 0x7f80),
            _ => return None,
        };
        Some(FloatFormat {
            exponent_bits,
            mantissa_bits,
            overflow,
        })
    }

    /// The bits of the value nearest to `value`, zero-extended; integer types cut toward zero, then wrap.
    pub fn encode_float(self, value: f64) -> u64 {
        match self {
            Dtype::F64 => value.to_bits(),
            Dtype::F32 => u64::from((value as f32).to_bits()),
            Dtype::I1 => u64::from(value != 0.0),
            _ => match self.float_format() {
                Some(format) => u64::from(format.encode(value)),
                None => self.encode_int(value as i128),
            },
        }
    }

    /// The bits of an integer, zero-extended: wrapped to an integer type's width, rounded to a float type.
    pub fn encode_int(self, value: i128) -> u64 {
        match self {
            Dtype::I1 => u64::from(value != 0),
            Dtype::F32 => u64::from((value as f32).to_bits()),
            _ if self.is_float() => self.encode_float(value as f64),
            _ => value as u64 & (u64::MAX >> (64 - 8 * self.bytes())),
        }
    }

    /// The value of an integer type's bits; none for float types.
    pub fn decode_int(self, bits: u64) -> Option<i128> {
        let (least, _) = self.integer_range()?;
        let unused = 64 - 8 * self.bytes() as u32;
        Some(match self {
            Dtype::I1 => i128::from(bits & 0xff != 0),
            _ if least == 0 => i128::from((bits << unused) >> unused),
            _ => i128::from(((bits << unused) as i64) >> unused),
        })
    }

    /// The value of the bits, exactly but for 64-bit integers beyond 2^53, which are rounded.
    pub fn decode_float(self, bits: u64) -> f64 {
        match self {
            Dtype::F64 => f64::from_bits(bits),
            Dtype::F32 => f64::from(f32::from_bits(bits as u32)),
            _ => match (self.float_format(), self.decode_int(bits)) {
                (Some(format), _) => format.decode(bits as u32),
                (None, Some(value)) => value as f64,
                (None, None) => f64::NAN,
            },
        }
    }
}

/// A float type of at most 16 bits with a sign bit, IEEE subnormals and NaN as all ones.
struct FloatFormat {
    exponent_bits: u32,
    mantissa_bits: u32,
    /// Bits of what positive values too large become: infinity, or the largest finite value.
    overflow: u32,
}

impl FloatFormat {
    fn bias(&self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    fn sign_bit(&self) -> u32 {
        1 << (self.exponent_bits + self.mantissa_bits)
    }

    fn encode(&self, value: f64) -> u32 {
        if value.is_nan() {
            return self.sign_bit() - 1;
        }
        let sign = if value.is_sign_negative() {
            self.sign_bit()
        } else {
            0
        };
        let bits = value.to_bits() & (u64::MAX >> 1);
        // Values below half the least subnormal round to zero; f64 subnormals are far below.
        let exponent = (bits >> 52) as i32 - 1023;
        let least = 1 - self.bias();
        if exponent < least - self.mantissa_bits as i32 - 1 {
            return sign;
        }
        if exponent > self.bias() + 1 {
            return sign | self.overflow;
        }
        let significand = (bits & ((1 << 52) - 1)) | 1 << 52;
        // Bits to drop; more for subnormals. The exponent enters by addition, so that a carry out of
        // the significand moves on into it.
        let shift = (52 - self.mantissa_bits as i32 + (least - exponent).max(0)) as u32;
        let kept = significand >> shift;
        let rest = significand & ((1 << shift) - 1);
        let half = 1u64 << (shift - 1);
        let rounded = kept + u64::from(rest > half || (rest == half && kept & 1 == 1));
        let biased = (exponent - least).max(0) as u64;
        let magnitude = ((biased << self.mantissa_bits) + rounded) as u32;
        sign | magnitude.min(self.overflow)
    }

    fn decode(&self, bits: u32) -> f64 {
        let magnitude = bits & (self.sign_bit() - 1);
        let mantissa = magnitude & ((1 << self.mantissa_bits) - 1);
        let exponent = (magnitude >> self.mantissa_bits) as i32;
        let all_ones = (1 << self.exponent_bits) - 1;
        // e4m3 has no infinity: only its all-ones pattern is no number.
        let value = if magnitude == self.sign_bit() - 1 {
            f64::NAN
        } else if exponent == all_ones && self.has_infinity() {
            if mantissa == 0 { f64::INFINITY } else { f64::NAN }
        } else if exponent == 0 {
            f64::from(mantissa) * power_of_two(1 - self.bias() - self.mantissa_bits as i32)
        } else {
            let significand = f64::from(mantissa | 1 << self.mantissa_bits);
            significand * power_of_two(exponent - self.bias() - self.mantissa_bits as i32)
        };
        if bits & self.sign_bit() != 0 {
            -value
        } else {
            value
        }
    }

    fn has_infinity(&self) -> bool {
        !(self.exponent_bits == 4 && self.mantissa_bits == 3)
    }
}

/// Exact for exponents of normal f64 values.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for dtype in Dtype::ALL {
            assert_eq!(Dtype::from_name(dtype.name()), Some(dtype));
        }
        assert_eq!(Dtype::from_name("tl.float8e4nv"), Some(Dtype::F8E4M3));
        assert_eq!(Dtype::from_name("f17"), None);
    }

    #[test]
    fn every_pattern_survives_decode_and_encode() {
        for dtype in [Dtype::F8E4M3, Dtype::F8E5M2, Dtype::F16, Dtype::BF16] {
            let patterns = 1u64 << (8 * dtype.bytes());
            for bits in 0..patterns {
                let value = dtype.decode_float(bits);
                if value.is_nan() || (value.is_infinite() && dtype == Dtype::F8E5M2) {
                    continue;
                }
                assert_eq!(dtype.encode_float(value), bits, "{dtype:?} {value}");
            }
            let nan = dtype.encode_float(f64::NAN);
            assert!(dtype.decode_float(nan).is_nan());
        }
    }

    /// The value halfway between neighbours goes to the even one, anything beyond to the nearer one.
    #[test]
    fn rounding_is_to_nearest_even() {
        for dtype in [Dtype::F8E4M3, Dtype::F8E5M2, Dtype::F16, Dtype::BF16] {
            for bits in 0..u64::from(dtype.float_format().unwrap().overflow) {
                let (low, high) = (dtype.decode_float(bits), dtype.decode_float(bits + 1));
                if high.is_infinite() {
                    continue;
                }
                let middle = low + (high - low) / 2.0;
                let even = if bits % 2 == 0 { bits } else { bits + 1 };
                assert_eq!(dtype.encode_float(middle), even, "{dtype:?} {middle}");
                assert_eq!(dtype.encode_float(middle.next_down()), bits, "{dtype:?} {middle}");
                assert_eq!(
                    dtype.encode_float(middle.next_up()),
                    bits + 1,
                    "{dtype:?} {middle}"
                );
                let negative = dtype.encode_float(-middle);
                assert_eq!(
                    dtype.decode_float(negative),
                    -dtype.decode_float(even),
                    "{dtype:?} {middle}"
                );
            }
        }
        assert_eq!(Dtype::F8E4M3.encode_float(1e9), 0x7e);
        assert_eq!(Dtype::F8E5M2.encode_float(f64::NEG_INFINITY), 0xfb);
        assert_eq!(Dtype::F16.encode_float(65519.9), 0x7bff);
        assert_eq!(Dtype::F16.encode_float(65520.0), 0x7c00);
        assert_eq!(Dtype::BF16.encode_float(1e39), 0x7f80);
        assert_eq!(Dtype::F16.encode_float(f64::MIN_POSITIVE), 0);
    }

    #[test]
    fn integers_wrap_and_come_back() {
        assert_eq!(Dtype::I8.encode_int(-1), 0xff);
        assert_eq!(Dtype::I8.decode_int(0x80), Some(-128));
        assert_eq!(Dtype::U8.decode_int(0x80), Some(128));
        assert_eq!(Dtype::I64.decode_int(u64::MAX), Some(-1));
        assert_eq!(Dtype::I16.encode_int(65536 + 7), 7);
        assert_eq!(Dtype::F32.decode_int(0), None);
        assert_eq!(Dtype::I32.encode_float(-2.9), 0xffff_fffe);
    }
}
