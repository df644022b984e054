//! Arithmetic on integers of any size and on floats.

use num_bigint::{BigInt, Sign};
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::{Result, as_int};
use crate::ast::BinaryOp;
use crate::limits;
use crate::value::Value;

/// A number.
#[derive(Debug, Clone, PartialEq)]
pub enum Number {
    /// An integer.
    Int(BigInt),
    /// A float.
    Float(f64),
}

/// The number that a value is; a boolean is one.
pub fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Float(float) => Some(Number::Float(*float)),
        value => as_int(value).map(Number::Int),
    }
}

impl Number {
    /// As a float, rounded to nearest even.
    ///
    /// # Errors
    /// Integers beyond the range of floats.
    pub fn to_float(&self) -> Result<f64> {
        match self {
            Number::Float(float) => Ok(*float),
            Number::Int(int) => {
                int_to_float(int).ok_or_else(|| "the integer is too large to be a float".to_string())
            }
        }
    }

    /// As a value.
    pub fn value(self) -> Value {
        match self {
            Number::Int(int) => Value::Int(int),
            Number::Float(float) => Value::Float(float),
        }
    }
}

/// `left op right` if both are numbers.
pub(super) fn binary(op: BinaryOp, left: &Value, right: &Value) -> Option<Result> {
    if let (Value::Bool(l), Value::Bool(r)) = (left, right) {
        match op {
            BinaryOp::And => return Some(Ok(Value::Bool(l & r))),
            BinaryOp::Or => return Some(Ok(Value::Bool(l | r))),
            BinaryOp::Xor => return Some(Ok(Value::Bool(l ^ r))),
            _ => {}
        }
    }
    match (number(left)?, number(right)?) {
        (Number::Int(l), Number::Int(r)) => Some(integers(op, &l, &r)),
        (l, r) => match op {
            BinaryOp::Shl
            | BinaryOp::Shr
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Xor
            | BinaryOp::MatMul => Some(Err(format!("`{}` takes integers, not floats", op.symbol()))),
            _ => Some(l.to_float().and_then(|l| floats(op, l, r.to_float()?))),
        },
    }
}

/// `left op right` on integers.
fn integers(op: BinaryOp, l: &BigInt, r: &BigInt) -> Result {
    let zero = || Err("division by zero".to_string());
    let int = match op {
        BinaryOp::Add => l + r,
        BinaryOp::Sub => l - r,
        BinaryOp::Mul => {
            bounded_bits(l.bits() + r.bits())?;
            l * r
        }
        BinaryOp::Div if r.is_zero() => return zero(),
        BinaryOp::Div => return true_division(l, r).map(Value::Float),
        BinaryOp::FloorDiv | BinaryOp::Mod if r.is_zero() => return zero(),
        BinaryOp::FloorDiv => floor_division(l, r).0,
        BinaryOp::Mod => floor_division(l, r).1,
        BinaryOp::Pow => return power(l, r),
        BinaryOp::Shl | BinaryOp::Shr if r.is_negative() => return Err("negative shift count".to_string()),
        BinaryOp::Shl if l.is_zero() => BigInt::zero(),
        BinaryOp::Shl => {
            let count = r.to_u64().unwrap_or(u64::MAX);
            bounded_bits(l.bits().saturating_add(count))?;
            l << count
        }
        BinaryOp::Shr => match r.to_u64().filter(|count| *count <= l.bits()) {
            Some(count) => l >> count,
            None if l.is_negative() => -BigInt::one(),
            None => BigInt::zero(),
        },
        BinaryOp::And => l & r,
        BinaryOp::Or => l | r,
        BinaryOp::Xor => l ^ r,
        BinaryOp::MatMul => return Err("`@` does not take integers".to_string()),
    };
    bounded_bits(int.bits())?;
    Ok(Value::Int(int))
}

/// `left op right` on floats.
fn floats(op: BinaryOp, l: f64, r: f64) -> Result {
    let zero = || Err("float division by zero".to_string());
    Ok(Value::Float(match op {
        BinaryOp::Add => l + r,
        BinaryOp::Sub => l - r,
        BinaryOp::Mul => l * r,
        BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Mod if r == 0.0 => return zero(),
        BinaryOp::Div => l / r,
        BinaryOp::FloorDiv => float_floor_division(l, r).0,
        BinaryOp::Mod => float_floor_division(l, r).1,
        BinaryOp::Pow => return float_power(l, r).map(Value::Float),
        _ => return Err(format!("`{}` does not take floats", op.symbol())),
    }))
}

/// Quotient rounded down and remainder with the divisor's sign; the divisor is not 0.
pub(super) fn floor_division(l: &BigInt, r: &BigInt) -> (BigInt, BigInt) {
    let (quotient, rest) = (l / r, l % r);
    if !rest.is_zero() && (rest.is_negative() != r.is_negative()) {
        (quotient - 1, rest + r)
    } else {
        (quotient, rest)
    }
}

/// The same for floats, as Python computes it: the quotient is that of the exact remainder.
pub(super) fn float_floor_division(l: f64, r: f64) -> (f64, f64) {
    let mut rest = l % r;
    let mut quotient = (l - rest) / r;
    if rest != 0.0 {
        if (r < 0.0) != (rest < 0.0) {
            rest += r;
            quotient -= 1.0;
        }
    } else {
        rest = 0f64.copysign(r);
    }
    let quotient = if quotient != 0.0 {
        let floor = quotient.floor();
        if quotient - floor > 0.5 {
            floor + 1.0
        } else {
            floor
        }
    } else {
        0f64.copysign(l / r)
    };
    (quotient, rest)
}

fn power(l: &BigInt, r: &BigInt) -> Result {
    if r.is_negative() {
        if l.is_zero() {
            return Err("0 cannot be raised to a negative power".to_string());
        }
        let (l, r) = (
            Number::Int(l.clone()).to_float()?,
            Number::Int(r.clone()).to_float()?,
        );
        return float_power(l, r).map(Value::Float);
    }
    if l.is_zero() || l.magnitude().is_one() {
        let odd = r.bit(0);
        return Ok(Value::Int(if r.is_zero() || (l.is_negative() && !odd) {
            BigInt::one()
        } else {
            l.clone()
        }));
    }
    let exponent = r.to_u64().unwrap_or(u64::MAX);
    // A number of b bits is at least 2^(b-1).
    bounded_bits((l.bits() - 1).saturating_mul(exponent))?;
    let value = l.pow(exponent as u32);
    bounded_bits(value.bits())?;
    Ok(Value::Int(value))
}

/// `l ** r` on floats.
pub(super) fn float_power(l: f64, r: f64) -> Result<f64> {
    if l == 0.0 && r < 0.0 {
        return Err("0.0 cannot be raised to a negative power".to_string());
    }
    if l < 0.0 && l.is_finite() && r.is_finite() && r.fract() != 0.0 {
        return Err("a negative number raised to a fraction is a complex number".to_string());
    }
    let value = l.powf(r);
    if value.is_infinite() && l.is_finite() && r.is_finite() {
        return Err("the result is too large to be a float".to_string());
    }
    Ok(value)
}

/// `l / r`, correctly rounded; `r` is not 0.
fn true_division(l: &BigInt, r: &BigInt) -> Result<f64> {
    const EXACT: u64 = 53;
    if l.bits() <= EXACT && r.bits() <= EXACT {
        return Ok(small(l) / small(r));
    }
    if l.is_zero() {
        return Ok(if r.is_negative() { -0.0 } else { 0.0 });
    }
    // A quotient of at least 64 bits, but no finer than a subnormal's last bit needs: what is below it only
    // matters by being there.
    let (lbits, rbits) = (l.bits() as i64, r.bits() as i64);
    let shift = (66 - (lbits - rbits)).min(1076);
    let (n, d) = if shift >= 0 {
        (l.magnitude() << shift as u64, r.magnitude().clone())
    } else {
        (l.magnitude().clone(), r.magnitude() << shift.unsigned_abs())
    };
    let (quotient, rest) = (&n / &d, &n % &d);
    let mut quotient = quotient.to_u128().unwrap_or(u128::MAX);
    if !rest.is_zero() {
        quotient |= 1;
    }
    let value = scale(quotient as f64, -shift);
    if value.is_infinite() {
        return Err("the quotient is too large to be a float".to_string());
    }
    Ok(if l.is_negative() == r.is_negative() {
        value
    } else {
        -value
    })
}

/// `value * 2^exponent`, rounded once.
pub(super) fn scale(mut value: f64, mut exponent: i64) -> f64 {
    while exponent > 1023 {
        value *= 2f64.powi(1023);
        exponent -= 1023;
        if value.is_infinite() || value == 0.0 {
            return value;
        }
    }
    // Down to the smallest normal number every step is exact; what is left then rounds.
    while exponent < -1022 {
        let own = ((value.to_bits() >> 52) & 0x7ff) as i64 - 1023;
        let step = exponent.max(-(own + 1022)).max(-1022);
        if step >= 0 || !value.is_finite() {
            return if value.is_finite() {
                0f64.copysign(value)
            } else {
                value
            };
        }
        value *= 2f64.powi(step as i32);
        exponent -= step;
    }
    value * 2f64.powi(exponent as i32)
}

/// An integer of at most 53 bits.
fn small(int: &BigInt) -> f64 {
    int.to_i64().unwrap_or_default() as f64
}

/// An integer as a float, rounded to nearest even; none beyond their range.
pub fn int_to_float(int: &BigInt) -> Option<f64> {
    let bits = int.bits();
    if bits <= 53 {
        return Some(small(int));
    }
    let magnitude = int.magnitude();
    let value = if bits <= 64 {
        magnitude.to_u64()? as f64
    } else {
        let shift = bits - 64;
        let mut top = (magnitude >> shift).to_u64()?;
        if magnitude.trailing_zeros().is_some_and(|zeros| zeros < shift) {
            top |= 1;
        }
        scale(top as f64, i64::try_from(shift).ok()?)
    };
    let value = if int.sign() == Sign::Minus { -value } else { value };
    value.is_finite().then_some(value)
}

/// The integer part of a finite float.
pub fn float_to_int(float: f64) -> Option<BigInt> {
    use num_traits::FromPrimitive;
    BigInt::from_f64(float.trunc())
}

pub(super) fn bounded_bits(bits: u64) -> Result<()> {
    if bits > limits::MAX_INT_BITS {
        return Err(format!(
            "an integer of more than {} bits at compile time",
            limits::MAX_INT_BITS
        ));
    }
    Ok(())
}
