//! Element-wise operators and functions, with NumPy's broadcasting and kinds.
//!
//! Integers are exact (128 bits; beyond that is an error) and stay integers except under `/`;
//! truth values follow NumPy: `+` is or, `*` is and, `-` is refused.

use std::cell::Cell;

use ndarray::{Array, IxDyn, Zip};
use tilescope_launch::expr::{BinaryOp, CompareOp, UnaryOp};

use super::value::{Fault, Limits, Outcome, Pair, Shared, Value, fault, promote, share};

/// The shape that two shapes broadcast to; none where they do not.
pub(super) fn broadcast_shape(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let dims = a.len().max(b.len());
    let size = |shape: &[usize], i: usize| match (i + shape.len()).checked_sub(dims) {
        Some(at) => shape.get(at).copied().unwrap_or(1),
        None => 1,
    };
    (0..dims)
        .map(|i| match (size(a, i), size(b, i)) {
            (m, n) if m == n => Some(m),
            (1, n) => Some(n),
            (m, 1) => Some(m),
            _ => None,
        })
        .collect()
}

/// As [`broadcast_shape`], within the limits.
pub(super) fn common_shape(a: &[usize], b: &[usize], limits: Limits) -> Outcome<Vec<usize>> {
    let Some(shape) = broadcast_shape(a, b) else {
        return fault(format!("shapes {a:?} and {b:?} do not broadcast")).map_err(|f: Fault| {
            f.with_help("dimensions are matched from the last; each pair must be equal, or one of them 1")
        });
    };
    limits.check(&shape)?;
    Ok(shape)
}

/// `f` of every pair of elements.
pub(super) fn zip<A, B, R: Clone>(
    a: &Shared<A>,
    b: &Shared<B>,
    limits: Limits,
    f: impl Fn(&A, &B) -> R,
) -> Outcome<Shared<R>> {
    let shape = common_shape(a.shape(), b.shape(), limits)?;
    let (Some(a), Some(b)) = (a.broadcast(shape.clone()), b.broadcast(shape)) else {
        return fault("shapes do not broadcast");
    };
    Ok(share(Zip::from(&a).and(&b).map_collect(f)))
}

/// As [`zip`] on integers, where `f` gives none on overflow.
fn zip_checked(
    a: &Shared<i128>,
    b: &Shared<i128>,
    limits: Limits,
    f: impl Fn(i128, i128) -> Option<i128>,
) -> Outcome<Value> {
    let overflow = Cell::new(false);
    let result = zip(a, b, limits, |&x, &y| {
        f(x, y).unwrap_or_else(|| {
            overflow.set(true);
            0
        })
    })?;
    if overflow.get() {
        return fault("an integer result is beyond 128 bits");
    }
    Ok(Value::Int(result))
}

/// `a op b` for every operator but `@`.
pub(super) fn binary(op: BinaryOp, a: &Value, b: &Value, limits: Limits) -> Outcome {
    match op {
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => bitwise(op, a, b, limits),
        BinaryOp::Shl | BinaryOp::Shr => {
            let (a, b) = (a.as_int()?, b.as_int()?);
            zip_checked(&a, &b, limits, |x, y| shift(op, x, y)).map_err(|f| match f.help {
                None => f.with_help("a shift moves by 0 to 127 bits"),
                Some(_) => f,
            })
        }
        BinaryOp::Div => float_arithmetic(op, &a.as_float()?, &b.as_float()?, limits),
        _ => match promote(a, b)? {
            Pair::Float(a, b) => float_arithmetic(op, &a, &b, limits),
            Pair::Int(a, b) => int_arithmetic(op, &a, &b, limits),
            Pair::Bool(a, b) => match op {
                BinaryOp::Add => Ok(Value::Bool(zip(&a, &b, limits, |x, y| x | y)?)),
                BinaryOp::Mul => Ok(Value::Bool(zip(&a, &b, limits, |x, y| x & y)?)),
                BinaryOp::Sub => fault("truth values cannot be subtracted")
                    .map_err(|f: Fault| f.with_help("use `^`, or cast(x, 'i32')")),
                _ => int_arithmetic(op, &Value::Bool(a).as_int()?, &Value::Bool(b).as_int()?, limits),
            },
        },
    }
}

fn float_arithmetic(op: BinaryOp, a: &Shared<f64>, b: &Shared<f64>, limits: Limits) -> Outcome {
    Ok(Value::Float(match op {
        BinaryOp::Add => zip(a, b, limits, |x, y| x + y)?,
        BinaryOp::Sub => zip(a, b, limits, |x, y| x - y)?,
        BinaryOp::Mul => zip(a, b, limits, |x, y| x * y)?,
        BinaryOp::Div => zip(a, b, limits, |x, y| x / y)?,
        BinaryOp::FloorDiv => zip(a, b, limits, |&x, &y| floor_divide(x, y).0)?,
        BinaryOp::Mod => zip(a, b, limits, |&x, &y| floor_divide(x, y).1)?,
        BinaryOp::Pow => zip(a, b, limits, |&x, &y| libm::pow(x, y))?,
        _ => return fault(format!("`{}` needs integers", op.as_str())),
    }))
}

/// Quotient rounded down and the remainder of the divisor's sign, as Python and NumPy have them.
fn floor_divide(x: f64, y: f64) -> (f64, f64) {
    if y == 0.0 {
        return (x / y, f64::NAN);
    }
    let mut remainder = x % y;
    let mut quotient = (x - remainder) / y;
    if remainder == 0.0 {
        remainder = 0f64.copysign(y);
    } else if (y < 0.0) != (remainder < 0.0) {
        remainder += y;
        quotient -= 1.0;
    }
    // The division above is exact up to rounding: the quotient is the nearest integer.
    let quotient = if quotient == 0.0 {
        0f64.copysign(x / y)
    } else {
        quotient.round_ties_even()
    };
    (quotient, remainder)
}

fn int_arithmetic(op: BinaryOp, a: &Shared<i128>, b: &Shared<i128>, limits: Limits) -> Outcome {
    match op {
        BinaryOp::Add => zip_checked(a, b, limits, i128::checked_add),
        BinaryOp::Sub => zip_checked(a, b, limits, i128::checked_sub),
        BinaryOp::Mul => zip_checked(a, b, limits, i128::checked_mul),
        // Division by zero gives zero, as in NumPy.
        BinaryOp::FloorDiv => zip_checked(
            a,
            b,
            limits,
            |x, y| if y == 0 { Some(0) } else { floor_quotient(x, y) },
        ),
        BinaryOp::Mod => zip_checked(a, b, limits, |x, y| {
            if y == 0 {
                Some(0)
            } else {
                x.checked_rem(y)
                    .map(|r| if r != 0 && (r < 0) != (y < 0) { r + y } else { r })
            }
        }),
        BinaryOp::Pow => {
            if b.iter().any(|&y| y < 0) {
                return fault("integers to negative integer powers are not integers")
                    .map_err(|f: Fault| f.with_help("make the base a float, for example 2.0 ** x"));
            }
            zip_checked(a, b, limits, power)
        }
        _ => fault(format!("`{}` does not take these operands", op.as_str())),
    }
}

fn floor_quotient(x: i128, y: i128) -> Option<i128> {
    let quotient = x.checked_div(y)?;
    let inexact = x.checked_rem(y)? != 0;
    if inexact && (x < 0) != (y < 0) {
        quotient.checked_sub(1)
    } else {
        Some(quotient)
    }
}

fn power(base: i128, exponent: i128) -> Option<i128> {
    match (base, u32::try_from(exponent)) {
        (0 | 1, _) => Some(if exponent == 0 { 1 } else { base }),
        (-1, _) => Some(if exponent % 2 == 0 { 1 } else { -1 }),
        (_, Ok(exponent)) => base.checked_pow(exponent),
        (_, Err(_)) => None,
    }
}

fn shift(op: BinaryOp, x: i128, by: i128) -> Option<i128> {
    let by = u32::try_from(by).ok().filter(|&by| by < 128)?;
    if op == BinaryOp::Shr {
        return Some(x >> by);
    }
    let shifted = x << by;
    (shifted >> by == x).then_some(shifted)
}

fn bitwise(op: BinaryOp, a: &Value, b: &Value, limits: Limits) -> Outcome {
    let hint = |f: Fault| f.with_help("compare first: `(x > 0) & (y > 0)`; comparisons bind weaker than `&`");
    match (promote(a, b)?, op) {
        (Pair::Float(..), _) => {
            fault(format!("`{}` needs integers or truth values", op.as_str())).map_err(hint)
        }
        (Pair::Bool(a, b), BinaryOp::BitAnd) => Ok(Value::Bool(zip(&a, &b, limits, |x, y| x & y)?)),
        (Pair::Bool(a, b), BinaryOp::BitOr) => Ok(Value::Bool(zip(&a, &b, limits, |x, y| x | y)?)),
        (Pair::Bool(a, b), _) => Ok(Value::Bool(zip(&a, &b, limits, |x, y| x ^ y)?)),
        (Pair::Int(a, b), BinaryOp::BitAnd) => Ok(Value::Int(zip(&a, &b, limits, |x, y| x & y)?)),
        (Pair::Int(a, b), BinaryOp::BitOr) => Ok(Value::Int(zip(&a, &b, limits, |x, y| x | y)?)),
        (Pair::Int(a, b), _) => Ok(Value::Int(zip(&a, &b, limits, |x, y| x ^ y)?)),
    }
}

/// `a op b`, as truth values; integers against floats are compared in float64.
pub(super) fn compare(op: CompareOp, a: &Value, b: &Value, limits: Limits) -> Outcome<Shared<bool>> {
    fn by<T: PartialOrd>(
        op: CompareOp,
        a: &Shared<T>,
        b: &Shared<T>,
        limits: Limits,
    ) -> Outcome<Shared<bool>> {
        match op {
            CompareOp::Eq => zip(a, b, limits, |x, y| x == y),
            CompareOp::Ne => zip(a, b, limits, |x, y| x != y),
            CompareOp::Lt => zip(a, b, limits, |x, y| x < y),
            CompareOp::Le => zip(a, b, limits, |x, y| x <= y),
            CompareOp::Gt => zip(a, b, limits, |x, y| x > y),
            CompareOp::Ge => zip(a, b, limits, |x, y| x >= y),
        }
    }
    match promote(a, b)? {
        Pair::Bool(a, b) => by(op, &a, &b, limits),
        Pair::Int(a, b) => by(op, &a, &b, limits),
        Pair::Float(a, b) => by(op, &a, &b, limits),
    }
}

/// `op a`; `not` is [`Value::truth`]'s.
pub(super) fn unary(op: UnaryOp, a: &Value) -> Outcome {
    match (op, a) {
        (UnaryOp::Not, _) => Ok(Value::from(!a.truth()?)),
        (UnaryOp::Neg, Value::Float(a)) => Ok(Value::Float(share(a.mapv(|v| -v)))),
        (UnaryOp::Neg, Value::Int(a)) => checked_map(a, i128::checked_neg),
        (UnaryOp::Pos, Value::Float(_) | Value::Int(_)) => Ok(a.clone()),
        (UnaryOp::Invert, Value::Int(a)) => Ok(Value::Int(share(a.mapv(|v| !v)))),
        (UnaryOp::Invert, Value::Bool(a)) => Ok(Value::Bool(share(a.mapv(|v| !v)))),
        (UnaryOp::Invert, _) => fault(format!(
            "`~` needs integers or truth values, this is {}",
            a.describe()
        )),
        (UnaryOp::Neg, _) => fault(format!("`-` needs numbers, this is {}", a.describe())),
        (UnaryOp::Pos, _) => fault(format!("`+` needs numbers, this is {}", a.describe())),
    }
}

fn checked_map(a: &Shared<i128>, f: impl Fn(i128) -> Option<i128>) -> Outcome {
    let mapped: Option<Vec<i128>> = a.iter().map(|&v| f(v)).collect();
    match mapped.map(|values| Array::from_shape_vec(IxDyn(a.shape()), values)) {
        Some(Ok(array)) => Ok(Value::Int(share(array))),
        _ => fault("an integer result is beyond 128 bits"),
    }
}

/// A function of one float.
pub(super) fn map_float(a: &Value, f: fn(f64) -> f64) -> Outcome {
    Ok(Value::Float(share(a.as_float()?.mapv(f))))
}

/// Absolute value; keeps the kind.
pub(super) fn absolute(a: &Value) -> Outcome {
    match a {
        Value::Int(a) => checked_map(a, i128::checked_abs),
        Value::Bool(_) => Ok(a.clone()),
        _ => map_float(a, f64::abs),
    }
}

/// Floor or round, which leave integers as they are.
pub(super) fn integral(a: &Value, f: fn(f64) -> f64) -> Outcome {
    match a {
        Value::Int(_) | Value::Bool(_) => Ok(a.clone()),
        _ => map_float(a, f),
    }
}

/// The larger of each pair, or the smaller; a NaN on either side wins, as in NumPy.
pub(super) fn extremum(a: &Value, b: &Value, larger: bool, limits: Limits) -> Outcome {
    Ok(match promote(a, b)? {
        Pair::Bool(a, b) => Value::Bool(zip(&a, &b, limits, |&x, &y| if larger { x | y } else { x & y })?),
        Pair::Int(a, b) => Value::Int(zip(
            &a,
            &b,
            limits,
            |&x, &y| if larger { x.max(y) } else { x.min(y) },
        )?),
        Pair::Float(a, b) => Value::Float(zip(&a, &b, limits, |&x, &y| pick(x, y, larger))?),
    })
}

/// The larger or smaller of two floats; NaN wins.
pub(super) fn pick(x: f64, y: f64, larger: bool) -> f64 {
    if x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    if (x < y) == larger { y } else { x }
}

/// `a` where the condition holds, else `b`.
pub(super) fn choose(condition: &Value, a: &Value, b: &Value, limits: Limits) -> Outcome {
    fn by<T: Clone>(c: &Shared<bool>, a: &Shared<T>, b: &Shared<T>, limits: Limits) -> Outcome<Shared<T>> {
        let shape = common_shape(a.shape(), b.shape(), limits)?;
        let shape = common_shape(c.shape(), &shape, limits)?;
        match (
            c.broadcast(shape.clone()),
            a.broadcast(shape.clone()),
            b.broadcast(shape),
        ) {
            (Some(c), Some(a), Some(b)) => Ok(share(
                Zip::from(&c)
                    .and(&a)
                    .and(&b)
                    .map_collect(|&c, a, b| if c { a.clone() } else { b.clone() }),
            )),
            _ => fault("shapes do not broadcast"),
        }
    }
    let condition = condition.as_bool().map_err(|f| f.in_parameter(0))?;
    Ok(match promote(a, b)? {
        Pair::Bool(a, b) => Value::Bool(by(&condition, &a, &b, limits)?),
        Pair::Int(a, b) => Value::Int(by(&condition, &a, &b, limits)?),
        Pair::Float(a, b) => Value::Float(by(&condition, &a, &b, limits)?),
    })
}
