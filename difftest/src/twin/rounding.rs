//! How far a correct path may be from the exact result of one operation.
//!
//! Paths are this tool's interpreter (every operation correctly rounded, functions within 1 ulp) and a GPU as Triton's
//! compiler uses it. Figures for f32 functions are the largest errors of an H200 over all inputs, in units in the last
//! place, rounded up; f16 and bf16 functions are computed in f32 and rounded once more.

use tilescope_ir::{OpCode, Scalar};

/// The largest relative error of rounding to nearest: half a unit in the last place of 1.
///
/// For f64 twice that: the twin itself rounds too.
pub(crate) fn unit(number: Scalar) -> f64 {
    let fraction_bits = match number {
        Scalar::F64 => 51,
        Scalar::F32 => 23,
        Scalar::F16 => 10,
        Scalar::BF16 => 7,
        Scalar::F8E4M3FN | Scalar::F8E4M3B11FNUZ | Scalar::F8E4M3FNUZ => 3,
        _ => 2,
    };
    (-(fraction_bits + 1) as f64).exp2()
}

/// The smallest positive number; results below the smallest normal one are off by as much.
pub(super) fn smallest(number: Scalar) -> f64 {
    match number {
        Scalar::F64 => f64::from_bits(1),
        Scalar::F32 => f64::exp2(-149.0),
        Scalar::F16 => f64::exp2(-24.0),
        Scalar::BF16 => f64::exp2(-133.0),
        Scalar::F8E4M3FN => f64::exp2(-9.0),
        Scalar::F8E4M3FNUZ => f64::exp2(-10.0),
        Scalar::F8E4M3B11FNUZ => f64::exp2(-13.0),
        Scalar::F8E5M2FNUZ => f64::exp2(-17.0),
        _ => f64::exp2(-16.0),
    }
}

/// The largest finite number.
pub(super) fn largest(number: Scalar) -> f64 {
    match number {
        Scalar::F64 => f64::MAX,
        Scalar::F32 => f64::from(f32::MAX),
        Scalar::F16 => 65504.0,
        Scalar::BF16 => f64::from(f32::from_bits(0x7f7f_0000)),
        Scalar::F8E4M3FN => 448.0,
        Scalar::F8E4M3FNUZ => 240.0,
        Scalar::F8E4M3B11FNUZ => 30.0,
        _ => 57344.0,
    }
}

/// Numbers whose conversions end at the largest finite one instead of infinity.
pub(super) fn saturates(number: Scalar) -> bool {
    number.bits() == 8
}

/// Below this a function of f32 may give zero: the card flushes the subnormal results of most.
pub(super) const FLUSHED: f64 = f32::MIN_POSITIVE as f64;

/// What a function may lose where a card takes a subnormal operand or result for zero. The subnormal numbers of bf16 are those of
/// f32, in which its functions are computed; those of f16 are normal there.
pub(super) fn flushed(code: OpCode, number: Scalar) -> f64 {
    match (code, number) {
        (_, Scalar::F64 | Scalar::F16) => 0.0,
        // Division keeps them; the quotient of f32 is given more than it needs.
        (OpCode::DivF | OpCode::ApproxDivF, Scalar::BF16) => 0.0,
        // Its slope at zero is 2 / sqrt(pi): the result of a subnormal operand may be normal.
        (OpCode::Erf, _) => 1.13 * FLUSHED,
        _ => FLUSHED,
    }
}

/// What an atomic addition may lose beside its rounding: those of f32 in global memory take subnormal operands and results
/// for zero.
pub(super) fn lost_by_atomic(number: Scalar) -> f64 {
    match number {
        Scalar::F32 => 3.0 * FLUSHED,
        _ => 0.0,
    }
}

/// The bound of an element that was added to atomically, `count` times numbers whose magnitudes and errors add up to `sizes`,
/// in whatever order. `error` is what it has without the roundings of these additions: each is of a partial sum, which is
/// the result without those summands that come later.
pub(super) fn of_sums(wide: f64, error: f64, (sizes, count): (f64, f64), number: Scalar) -> f64 {
    if count == 0.0 {
        return error;
    }
    let size = if wide.is_finite() { wide.abs() } else { 0.0 };
    let reach = size + sizes + error;
    let units = count * unit(number);
    match reach > largest(number) {
        true => f64::NAN,
        // What is rounded has the roundings before it in itself.
        false => error + units * (1.0 + units) * reach + count * lost_by_atomic(number),
    }
}

/// The largest error of an f32 operation on a GPU, in units in the last place; 0.5 where it is correctly rounded.
///
/// `exp` is not here: its error grows with its operand.
pub(super) fn ulps(code: OpCode) -> f64 {
    match code {
        OpCode::DivF | OpCode::ApproxDivF => 2.07,
        OpCode::Exp2 => 2.06,
        OpCode::ExpM1 => 1.5,
        OpCode::Log | OpCode::Log1p => 1.0,
        OpCode::Log2 => 1.0,
        // Not measured over all inputs; CUDA promises 2, and 1.08 was seen.
        OpCode::Log10 => 2.0,
        OpCode::Sqrt => 1.0,
        OpCode::Rsqrt => 1.6,
        OpCode::Sin | OpCode::Cos => 1.6,
        OpCode::Erf => 1.2,
        OpCode::Tanh => 2.0,
        OpCode::Tan | OpCode::Atan | OpCode::Atan2 => 4.0,
        OpCode::PowF => 16.0,
        _ => 0.5,
    }
}

/// The error of f32 `exp` in units in the last place is at most this much, and [`EXP_SLOPE`] more for each unit of its
/// operand's magnitude: it multiplies by log2(e) first.
pub(super) const EXP_ULPS: f64 = 2.4;

/// See [`EXP_ULPS`].
pub(super) const EXP_SLOPE: f64 = 0.75;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_the_formats() {
        assert_eq!(unit(Scalar::F32), f64::from(f32::EPSILON) / 2.0);
        assert_eq!(unit(Scalar::F64), f64::EPSILON);
        assert_eq!(smallest(Scalar::F32), f64::from(f32::from_bits(1)));
        assert_eq!(largest(Scalar::F16), (2.0 - f64::exp2(-10.0)) * f64::exp2(15.0));
        assert_eq!(largest(Scalar::F8E5M2), 1.75 * f64::exp2(15.0));
    }
}
