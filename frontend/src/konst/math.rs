//! Python's `math` on compile-time values.

use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::number::{Number, bounded_bits, float_power, float_to_int, number, scale};
use super::{Result, as_i64, as_int, binary, index, type_name};
use crate::ast::BinaryOp;
use crate::value::Value;

/// `math.name`, a constant.
pub fn constant(name: &str) -> Option<Value> {
    Some(Value::Float(match name {
        "pi" => std::f64::consts::PI,
        "e" => std::f64::consts::E,
        "tau" => std::f64::consts::TAU,
        "inf" => f64::INFINITY,
        "nan" => f64::NAN,
        _ => return None,
    }))
}

/// `math.name(…)`.
///
/// # Errors
/// Arguments outside of the function's domain, results that are no floats; no such function.
pub fn call(name: &str, args: &[Value]) -> Result {
    if let Some(first) = args.iter().find(|a| matches!(a, Value::Opaque(_))) {
        return Ok(first.clone());
    }
    if let Some(result) = on_integers(name, args) {
        return result;
    }
    let float = |at: usize| -> Result<f64> {
        let value = args
            .get(at)
            .ok_or_else(|| format!("`math.{name}` needs an argument"))?;
        let number = number(value).ok_or_else(|| {
            format!(
                "`math.{name}` takes a number, not a value of type {}",
                type_name(value)
            )
        })?;
        number.to_float()
    };
    let x = float(0)?;
    let domain = |ok: bool| {
        if ok || x.is_nan() {
            Ok(())
        } else {
            Err(format!("{x} is outside of the domain of `math.{name}`"))
        }
    };
    let value = match name {
        "sqrt" => {
            domain(x >= 0.0)?;
            x.sqrt()
        }
        "cbrt" => x.cbrt(),
        "exp" => x.exp(),
        "exp2" => x.exp2(),
        "expm1" => x.exp_m1(),
        "log" if args.len() > 1 => {
            domain(x > 0.0)?;
            let base = log_of(&args[1], f64::ln)?;
            if base == 0.0 {
                return Err("the base of a logarithm cannot be 1".to_string());
            }
            x.ln() / base
        }
        "log" => return log_of(&args[0], f64::ln).map(Value::Float),
        "log2" => return log_of(&args[0], f64::log2).map(Value::Float),
        "log10" => return log_of(&args[0], f64::log10).map(Value::Float),
        "log1p" => {
            domain(x > -1.0)?;
            x.ln_1p()
        }
        "pow" => return float_power(x, float(1)?).map(Value::Float),
        "sin" | "cos" | "tan" => {
            domain(x.is_finite())?;
            match name {
                "sin" => x.sin(),
                "cos" => x.cos(),
                _ => x.tan(),
            }
        }
        "asin" | "acos" => {
            domain(x.abs() <= 1.0)?;
            if name == "asin" { x.asin() } else { x.acos() }
        }
        "atan" => x.atan(),
        "atan2" => x.atan2(float(1)?),
        "sinh" => x.sinh(),
        "cosh" => x.cosh(),
        "tanh" => x.tanh(),
        "asinh" => x.asinh(),
        "acosh" => {
            domain(x >= 1.0)?;
            x.acosh()
        }
        "atanh" => {
            domain(x.abs() < 1.0)?;
            x.atanh()
        }
        "fabs" => x.abs(),
        "copysign" => x.copysign(float(1)?),
        "fmod" => {
            let y = float(1)?;
            domain(y != 0.0 && x.is_finite())?;
            x % y
        }
        "hypot" => args
            .iter()
            .enumerate()
            .try_fold(0f64, |sum, (at, _)| Ok::<_, String>(sum.hypot(float(at)?)))?,
        "ldexp" => scale(
            x,
            as_i64(args.get(1).unwrap_or(&Value::None)).ok_or("the exponent is an integer")?,
        ),
        "degrees" => x * (180.0 / std::f64::consts::PI),
        "radians" => x * (std::f64::consts::PI / 180.0),
        "isnan" => return Ok(Value::Bool(x.is_nan())),
        "isinf" => return Ok(Value::Bool(x.is_infinite())),
        "isfinite" => return Ok(Value::Bool(x.is_finite())),
        "isclose" => {
            let (y, tolerance) = (float(1)?, 1e-9);
            let near = (x - y).abs() <= tolerance * x.abs().max(y.abs());
            return Ok(Value::Bool(x == y || (near && x.is_finite() && y.is_finite())));
        }
        "floor" | "ceil" | "trunc" => {
            let whole = match name {
                "floor" => x.floor(),
                "ceil" => x.ceil(),
                _ => x,
            };
            let int = float_to_int(whole).ok_or_else(|| format!("{x} is no integer"))?;
            return Ok(Value::Int(int));
        }
        _ => return Err(format!("`math.{name}` is not known to this version")),
    };
    if value.is_infinite() && x.is_finite() && !matches!(name, "copysign" | "hypot") {
        return Err(format!("the result of `math.{name}` is too large to be a float"));
    }
    Ok(Value::Float(value))
}

/// A logarithm, of integers of any size too.
fn log_of(value: &Value, log: fn(f64) -> f64) -> Result<f64> {
    let domain = || "a logarithm takes a positive number".to_string();
    match number(value) {
        Some(Number::Float(x)) if x <= 0.0 => Err(domain()),
        Some(Number::Float(x)) => Ok(log(x)),
        Some(Number::Int(int)) if !int.is_positive() => Err(domain()),
        Some(Number::Int(int)) => match Number::Int(int.clone()).to_float() {
            Ok(x) => Ok(log(x)),
            Err(_) => {
                // log(m * 2^e) of an integer beyond floats.
                let shift = int.bits() - 64;
                let top = (int >> shift).to_f64().unwrap_or(f64::MAX);
                Ok(log(top) + log(2.0) * shift as f64)
            }
        },
        None => Err(format!(
            "a logarithm takes a number, not a value of type {}",
            type_name(value)
        )),
    }
}

/// Functions that stay among integers; none if it is no such function or its argument is a float.
fn on_integers(name: &str, args: &[Value]) -> Option<Result> {
    let int = |at: usize| -> Result<BigInt> {
        args.get(at)
            .and_then(as_int)
            .ok_or_else(|| format!("`math.{name}` takes integers"))
    };
    let value = || -> Result {
        Ok(Value::Int(match name {
            "floor" | "ceil" | "trunc" => int(0)?,
            "gcd" => {
                let mut gcd = BigInt::zero();
                for at in 0..args.len() {
                    gcd = greatest_common_divisor(gcd, int(at)?);
                }
                gcd
            }
            "lcm" => {
                let mut lcm = BigInt::one();
                for at in 0..args.len() {
                    let next = int(at)?;
                    if next.is_zero() {
                        return Ok(Value::int(0));
                    }
                    bounded_bits(lcm.bits() + next.bits())?;
                    lcm = (&lcm * &next).abs() / greatest_common_divisor(lcm, next);
                }
                lcm
            }
            "isqrt" => {
                let n = int(0)?;
                if n.is_negative() {
                    return Err("`math.isqrt` takes an integer that is not negative".to_string());
                }
                n.sqrt()
            }
            "factorial" => {
                let n = int(0)?
                    .to_u32()
                    .filter(|n| *n <= 2000)
                    .ok_or("`math.factorial` takes an integer from 0 to 2000")?;
                let mut product = BigInt::one();
                for factor in 2..=n {
                    product *= factor;
                }
                bounded_bits(product.bits())?;
                product
            }
            "comb" => {
                let (n, k) = (int(0)?, int(1)?);
                let k = k
                    .to_u32()
                    .filter(|k| *k <= 2000)
                    .ok_or("`math.comb` chooses 0 to 2000 of them")?;
                let mut product = BigInt::one();
                for i in 0..k {
                    product = product * (&n - i) / (i + 1);
                    bounded_bits(product.bits())?;
                }
                product
            }
            "prod" => {
                let mut product = Value::int(1);
                for item in index::iterate(args.first().unwrap_or(&Value::None))? {
                    product = binary(BinaryOp::Mul, &product, &item)?;
                }
                return Ok(product);
            }
            _ => return Err(String::new()),
        }))
    };
    match name {
        "floor" | "ceil" | "trunc" if !matches!(args.first(), Some(Value::Int(_) | Value::Bool(_))) => None,
        "floor" | "ceil" | "trunc" | "gcd" | "lcm" | "isqrt" | "factorial" | "comb" | "prod" => Some(value()),
        _ => None,
    }
}

fn greatest_common_divisor(a: BigInt, b: BigInt) -> BigInt {
    let (mut a, mut b) = (a.abs(), b.abs());
    while !b.is_zero() {
        (a, b) = (b.clone(), a % b);
    }
    a
}
