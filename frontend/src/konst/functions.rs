//! Python's own functions on compile-time values, and the two of `triton` that host code shares with kernels.

use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::number::{Number, bounded_bits, float_to_int, floor_division, number};
use super::{Result, as_i64, as_int, binary, compare, index, list, text, truth, type_name};
use crate::ast::{BinaryOp, CompareOp};
use crate::value::Value;

/// `int(value)`, `int(text, base)`.
///
/// # Errors
/// What is no integer.
pub fn int(value: &Value, base: Option<&Value>) -> Result {
    match value {
        Value::Str(text) => {
            let base = match base {
                None => 10,
                Some(base) => as_i64(base)
                    .filter(|b| *b == 0 || (2..=36).contains(b))
                    .ok_or("a base is 2 to 36")?,
            };
            int_of_text(text, base as u32).map(Value::Int)
        }
        Value::Float(float) => match float_to_int(*float) {
            Some(int) => Ok(Value::Int(int)),
            None => Err(format!("{} is no integer", text::float_repr(*float))),
        },
        Value::Opaque(why) => Ok(Value::Opaque(why.clone())),
        other => match as_int(other) {
            Some(int) => Ok(Value::Int(int)),
            None => Err(format!("a value of type {} is no integer", type_name(other))),
        },
    }
}

fn int_of_text(text: &str, base: u32) -> Result<BigInt> {
    let wrong = || format!("{} is no integer", text::str_repr(text));
    let trimmed = text.trim();
    let (negative, digits) = match trimmed.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, trimmed.strip_prefix('+').unwrap_or(trimmed)),
    };
    let lower = digits.to_ascii_lowercase();
    let prefixed = [("0x", 16), ("0o", 8), ("0b", 2)];
    let prefix = prefixed
        .iter()
        .find(|(p, b)| lower.starts_with(p) && (base == 0 || base == *b));
    let (digits, base) = match prefix {
        Some((_, b)) => (&lower[2..], *b),
        None => (&lower[..], if base == 0 { 10 } else { base }),
    };
    let misplaced =
        digits.ends_with('_') || digits.contains("__") || (prefix.is_none() && digits.starts_with('_'));
    if digits.is_empty() || misplaced || digits.starts_with(['+', '-']) {
        return Err(wrong());
    }
    let digits = digits.replace('_', "");
    bounded_bits(digits.len() as u64 * u64::from(u32::ilog2(base)))?;
    let value = BigInt::parse_bytes(digits.as_bytes(), base).ok_or_else(wrong)?;
    Ok(if negative { -value } else { value })
}

/// `float(value)`.
///
/// # Errors
/// What is no float.
pub fn float(value: &Value) -> Result {
    match value {
        Value::Str(text) => {
            let trimmed = text.trim().replace('_', "");
            let body = trimmed.trim_start_matches(['+', '-']).to_ascii_lowercase();
            let is_word = matches!(&*body, "inf" | "infinity" | "nan");
            let is_number = body.starts_with(|c: char| c.is_ascii_digit() || c == '.');
            match trimmed.parse::<f64>() {
                Ok(value) if is_word || is_number => Ok(Value::Float(value)),
                _ => Err(format!("{} is no float", text::str_repr(text))),
            }
        }
        Value::Opaque(why) => Ok(Value::Opaque(why.clone())),
        other => match number(other) {
            Some(number) => number.to_float().map(Value::Float),
            None => Err(format!("a value of type {} is no float", type_name(other))),
        },
    }
}

/// `abs(value)`.
///
/// # Errors
/// What is no number.
pub fn abs(value: &Value) -> Result {
    match number(value) {
        Some(Number::Int(int)) => Ok(Value::Int(int.abs())),
        Some(Number::Float(float)) => Ok(Value::Float(float.abs())),
        None => Err(format!("a value of type {} is no number", type_name(value))),
    }
}

/// `round(value, digits)`: to even where two are equally near.
///
/// # Errors
/// What is no number; floats rounded before their point.
pub fn round(value: &Value, digits: Option<&Value>) -> Result {
    let digits = match digits {
        None | Some(Value::None) => None,
        Some(digits) => Some(as_i64(digits).ok_or("the number of digits is an integer")?),
    };
    match (number(value), digits) {
        (Some(Number::Float(float)), None) => match float_to_int(float.round_ties_even()) {
            Some(int) => Ok(Value::Int(int)),
            None => Err(format!("{} is no integer", text::float_repr(float))),
        },
        (Some(Number::Float(float)), Some(digits @ 0..=400)) if float.is_finite() => {
            // The decimal text is rounded from the exact value, ties to even, as Python's is.
            let text = format!("{float:.*}", digits as usize);
            Ok(Value::Float(text.parse().unwrap_or(float)))
        }
        (Some(Number::Float(float)), Some(digits)) if digits > 400 || !float.is_finite() => {
            Ok(Value::Float(float))
        }
        (Some(Number::Float(_)), Some(_)) => {
            Err("a float rounded before its point is not supported".to_string())
        }
        (Some(Number::Int(int)), None | Some(0..)) => Ok(Value::Int(int)),
        (Some(Number::Int(int)), Some(digits)) => {
            bounded_bits(digits.unsigned_abs().saturating_mul(4))?;
            let unit = BigInt::from(10).pow(digits.unsigned_abs() as u32);
            let (down, rest) = floor_division(&int, &unit);
            let twice: BigInt = rest * 2;
            let up = twice > unit || (twice == unit && down.bit(0));
            Ok(Value::Int((if up { down + 1 } else { down }) * unit))
        }
        (None, _) => Err(format!("a value of type {} is no number", type_name(value))),
    }
}

/// `divmod(left, right)`.
///
/// # Errors
/// As `//` and `%`.
pub fn divmod(left: &Value, right: &Value) -> Result {
    let quotient = binary(BinaryOp::FloorDiv, left, right)?;
    Ok(Value::tuple(vec![quotient, binary(BinaryOp::Mod, left, right)?]))
}

/// `pow(base, exponent, modulus)`.
///
/// # Errors
/// As `**`; a modulus with numbers that are no integers or a negative exponent.
pub fn pow(base: &Value, exponent: &Value, modulus: Option<&Value>) -> Result {
    let Some(modulus) = modulus.filter(|m| !matches!(m, Value::None)) else {
        return binary(BinaryOp::Pow, base, exponent);
    };
    match (as_int(base), as_int(exponent), as_int(modulus)) {
        (Some(base), Some(exponent), Some(modulus)) if !exponent.is_negative() && !modulus.is_zero() => {
            let value = base.modpow(&exponent, &modulus);
            Ok(Value::Int(value))
        }
        _ => Err("`pow` with a modulus takes integers, the exponent not negative".to_string()),
    }
}

/// The smallest (or largest) of some values, the first of equal ones; `keys` are what is compared.
///
/// # Errors
/// No values, values without an order.
pub fn extreme(values: &[Value], keys: &[Value], largest: bool) -> Result {
    let mut best: Option<usize> = None;
    let op = if largest { CompareOp::Gt } else { CompareOp::Lt };
    for (at, key) in keys.iter().enumerate() {
        let better = match best.and_then(|best| keys.get(best)) {
            None => true,
            Some(best) => compare(op, key, best)?,
        };
        if better {
            best = Some(at);
        }
    }
    best.and_then(|at| values.get(at))
        .cloned()
        .ok_or_else(|| "there are no values to choose from".to_string())
}

/// `sum(values, start)`.
///
/// # Errors
/// Values that do not add.
pub fn sum(values: &Value, start: Value) -> Result {
    if matches!(start, Value::Str(_)) {
        return Err("`sum` does not add strings; `join` does".to_string());
    }
    let mut total = start;
    for value in index::iterate(values)? {
        total = binary(BinaryOp::Add, &total, &value)?;
    }
    Ok(total)
}

/// `any(values)` or `all(values)`.
///
/// # Errors
/// Values whose truth is not known.
pub fn any(values: &Value, all: bool) -> Result {
    for value in index::iterate(values)? {
        if truth(&value)? != all {
            return Ok(Value::Bool(!all));
        }
    }
    Ok(Value::Bool(all))
}

/// `zip(a, b, …)`.
///
/// # Errors
/// What cannot be run through.
pub fn zip(sequences: &[Value]) -> Result {
    let mut columns = Vec::with_capacity(sequences.len());
    for sequence in sequences {
        columns.push(index::iterate(sequence)?);
    }
    let rows = columns.iter().map(Vec::len).min().unwrap_or(0);
    let row = |i: usize| Value::tuple(columns.iter().map(|column| column[i].clone()).collect());
    Ok(list((0..rows).map(row).collect()))
}

/// `enumerate(values, start)`.
///
/// # Errors
/// What cannot be run through.
pub fn enumerate(values: &Value, start: &Value) -> Result {
    let start = as_int(start).ok_or("a start is an integer")?;
    let numbered = index::iterate(values)?.into_iter().enumerate();
    Ok(list(
        numbered
            .map(|(at, value)| Value::tuple(vec![Value::Int(&start + at), value]))
            .collect(),
    ))
}

/// Values without repetitions, in order: what a set is here.
pub fn distinct(values: Vec<Value>) -> Vec<Value> {
    let mut kept: Vec<Value> = Vec::new();
    for value in values {
        if !kept.iter().any(|k| super::equal(k, &value)) {
            kept.push(value);
        }
    }
    kept
}

/// `triton.cdiv(x, y)`: the quotient rounded up.
///
/// # Errors
/// What is no integer, division by zero.
pub fn cdiv(x: &Value, y: &Value) -> Result {
    let sum = binary(BinaryOp::Sub, &binary(BinaryOp::Add, x, y)?, &Value::int(1))?;
    binary(BinaryOp::FloorDiv, &sum, y)
}

/// `triton.next_power_of_2(n)`: the smallest power of two that is at least `n`; 0 for 0 and below.
///
/// # Errors
/// What is no integer.
pub fn next_power_of_2(n: &Value) -> Result {
    let n = as_int(n).ok_or_else(|| {
        format!(
            "`next_power_of_2` takes an integer, not a value of type {}",
            type_name(n)
        )
    })?;
    if !n.is_positive() {
        return Ok(Value::int(0));
    }
    let bits = (n - BigInt::one()).bits();
    bounded_bits(bits + 1)?;
    Ok(Value::Int(BigInt::one() << bits))
}

/// `bin`, `oct`, `hex` of an integer.
///
/// # Errors
/// What is no integer.
pub fn radix(value: &Value, radix: u32, prefix: &str) -> Result {
    let int = as_int(value).ok_or_else(|| format!("a value of type {} is no integer", type_name(value)))?;
    let sign = if int.is_negative() { "-" } else { "" };
    Ok(Value::str(&format!(
        "{sign}{prefix}{}",
        int.abs().to_str_radix(radix)
    )))
}

/// The character with a code.
///
/// # Errors
/// What is no code.
pub fn chr(value: &Value) -> Result {
    let code = as_int(value)
        .and_then(|int| int.to_u32())
        .and_then(char::from_u32);
    let c = code.ok_or("it is no character's code")?;
    Ok(Value::str(c.encode_utf8(&mut [0; 4])))
}

/// The code of a character.
///
/// # Errors
/// Strings that are not one character.
pub fn ord(value: &Value) -> Result {
    if let Value::Str(text) = value {
        let mut chars = text.chars();
        if let (Some(c), None) = (chars.next(), chars.next()) {
            return Ok(Value::int(c as u32));
        }
    }
    Err("it is not one character".to_string())
}
