//! Python on values that are known at compile time: the operators, formatting, methods and functions of numbers,
//! strings, tuples, lists and dictionaries, exactly as Python computes them.
//!
//! Everything here takes values and gives values; errors are words (`unsupported operand types for +: …`), to which
//! the caller adds the place. Nothing is unbounded: integers, strings and lists grow up to
//! [`limits`], beyond which an operation is refused.

pub mod attribute;
pub mod compare;
pub mod format;
pub mod functions;
pub mod index;
pub mod math;
pub mod methods;
mod nesting;
pub mod number;
pub mod text;

use std::cell::RefCell;
use std::rc::Rc;

use num_bigint::BigInt;
use num_traits::{ToPrimitive, Zero};

use crate::ast::{BinaryOp, UnaryOp};
use crate::limits;
use crate::value::{ClassKind, Instance, Tuple, Value};

/// A value, or what is wrong in words.
pub type Result<T = Value> = std::result::Result<T, String>;

pub use compare::{compare, equal, identical};
pub(crate) use nesting::{holds_containers, too_deep};
pub use text::{repr, str};

/// Python's name of a value's type, as its messages say it.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::None => "NoneType",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int",
        Value::Float(_) => "float",
        Value::Str(_) => "str",
        Value::Ellipsis => "ellipsis",
        Value::Slice(_) => "slice",
        Value::Type(_) => "dtype",
        Value::Tuple(_) => "tuple",
        Value::List(_) => "list",
        Value::Set(_) => "set",
        Value::Dict(_) => "dict",
        Value::Tensor(_) => "tensor",
        Value::Descriptor(_) => "tensor_descriptor",
        Value::Instance(_) => "object",
        Value::Function(_) | Value::Lambda(_) => "function",
        Value::Method(_) => "method",
        Value::Builtin(_) => "builtin function",
        Value::Class(_) => "type",
        Value::Module(_) => "module",
        Value::Range(_) => "range",
        Value::Condition(_) => "condition",
        Value::Opaque(_) => "unknown object",
        Value::Error => "value in error",
    }
}

/// The integer that a value is, `True` being 1; members of an `IntEnum` are integers too.
pub fn as_int(value: &Value) -> Option<BigInt> {
    match value {
        Value::Int(int) => Some(int.clone()),
        Value::Bool(bool) => Some(BigInt::from(u8::from(*bool))),
        Value::Instance(instance) => int_member(instance),
        _ => None,
    }
}

fn int_member(instance: &Instance) -> Option<BigInt> {
    if instance.class.kind != ClassKind::IntEnum {
        return None;
    }
    match instance.fields.iter().find(|(name, _)| &**name == "value") {
        Some((_, Value::Int(int))) => Some(int.clone()),
        _ => None,
    }
}

/// An integer that must fit a machine word, for lengths, indices and the like.
pub fn as_i64(value: &Value) -> Option<i64> {
    as_int(value)?.to_i64()
}

/// Whether a value counts as true.
///
/// # Errors
/// Values that are not known.
pub fn truth(value: &Value) -> Result<bool> {
    Ok(match value {
        Value::None => false,
        Value::Bool(bool) => *bool,
        Value::Int(int) => !int.is_zero(),
        Value::Float(float) => *float != 0.0,
        Value::Str(text) => !text.is_empty(),
        Value::Tuple(tuple) => !tuple.items.is_empty(),
        Value::List(items) | Value::Set(items) => !items.borrow().is_empty(),
        Value::Dict(entries) => !entries.borrow().is_empty(),
        Value::Instance(instance) => int_member(instance).is_none_or(|int| !int.is_zero()),
        Value::Opaque(why) => return Err(why.to_string()),
        Value::Tensor(_) | Value::Descriptor(_) => {
            return Err("its value is known only at run time".to_string());
        }
        _ => true,
    })
}

/// `op value`.
///
/// # Errors
/// Operands that the operator does not take.
pub fn unary(op: UnaryOp, value: &Value) -> Result {
    if op == UnaryOp::Not {
        return Ok(Value::Bool(!truth(value)?));
    }
    if let Value::Float(float) = value {
        match op {
            UnaryOp::Neg => return Ok(Value::Float(-float)),
            UnaryOp::Pos => return Ok(Value::Float(*float)),
            _ => {}
        }
    }
    match (op, as_int(value)) {
        (UnaryOp::Neg, Some(int)) => Ok(Value::Int(-int)),
        (UnaryOp::Pos, Some(int)) => Ok(Value::Int(int)),
        (UnaryOp::Invert, Some(int)) => Ok(Value::Int(!int)),
        _ => Err(format!(
            "`{}` does not take a value of type {}",
            op.symbol(),
            type_name(value)
        )),
    }
}

/// `left op right`.
///
/// # Errors
/// Operands that the operator does not take, division by zero, results beyond [`limits`].
pub fn binary(op: BinaryOp, left: &Value, right: &Value) -> Result {
    if let Some(result) = number::binary(op, left, right) {
        return result;
    }
    match (op, left, right) {
        (BinaryOp::Add, Value::Str(l), Value::Str(r)) => {
            bounded_len(l.len() + r.len())?;
            Ok(Value::Str(format!("{l}{r}").into()))
        }
        (BinaryOp::Mod, Value::Str(l), r) => format::percent(l, r),
        (BinaryOp::Mul, Value::Str(text), times) | (BinaryOp::Mul, times, Value::Str(text))
            if as_int(times).is_some() =>
        {
            let times = repetitions(times, text.len())?;
            Ok(Value::Str(text.repeat(times).into()))
        }
        (BinaryOp::Add, Value::Tuple(l), Value::Tuple(r)) => {
            bounded_len(l.items.len() + r.items.len())?;
            Ok(Value::tuple(
                l.items.iter().chain(r.items.iter()).cloned().collect(),
            ))
        }
        (BinaryOp::Add, Value::List(l), Value::List(r)) => {
            let (l, r) = (l.borrow(), r.borrow());
            bounded_len(l.len() + r.len())?;
            Ok(list(l.iter().chain(r.iter()).cloned().collect()))
        }
        (BinaryOp::Mul, items @ (Value::Tuple(_) | Value::List(_)), times)
        | (BinaryOp::Mul, times, items @ (Value::Tuple(_) | Value::List(_)))
            if as_int(times).is_some() =>
        {
            let all = index::iterate(items)?;
            let times = repetitions(times, all.len())?;
            let repeated = std::iter::repeat_n(all, times).flatten().collect();
            Ok(if matches!(items, Value::Tuple(_)) {
                Value::tuple(repeated)
            } else {
                list(repeated)
            })
        }
        (BinaryOp::Or | BinaryOp::And | BinaryOp::Sub | BinaryOp::Xor, Value::Set(l), Value::Set(r)) => {
            let (l, r) = (l.borrow(), r.borrow());
            bounded_len(l.len() + r.len())?;
            set(combined(op, &l, &r))
        }
        (BinaryOp::Or, Value::Dict(l), Value::Dict(r)) => {
            let mut entries = l.borrow().clone();
            for (key, value) in r.borrow().iter() {
                index::insert(&mut entries, key.clone(), value.clone())?;
            }
            Ok(dict(entries))
        }
        (_, Value::Opaque(why), _) | (_, _, Value::Opaque(why)) => Ok(Value::Opaque(why.clone())),
        _ => Err(format!(
            "`{}` does not take values of the types {} and {}",
            op.symbol(),
            type_name(left),
            type_name(right)
        )),
    }
}

fn repetitions(times: &Value, len: usize) -> Result<usize> {
    let times = as_int(times).unwrap_or_default();
    if times <= BigInt::zero() || len == 0 {
        return Ok(0);
    }
    let times = times.to_usize().unwrap_or(usize::MAX);
    bounded_len(len.saturating_mul(times))?;
    Ok(times)
}

/// Checks the length of a string or list that is to be made.
pub(crate) fn bounded_len(len: usize) -> Result<()> {
    if len > limits::MAX_ITEMS {
        return Err(format!(
            "more than {} characters or items at compile time",
            limits::MAX_ITEMS
        ));
    }
    Ok(())
}

/// A list.
pub fn list(items: Vec<Value>) -> Value {
    Value::List(Rc::new(RefCell::new(items)))
}

/// Items that a set is made of, at most: each is compared with each.
const MAX_SET: usize = 4096;

/// A set of the different ones among some items.
///
/// # Errors
/// More than 4096 items.
pub fn set(items: Vec<Value>) -> Result {
    if items.len() > MAX_SET {
        return Err(format!("a set of more than {MAX_SET} items"));
    }
    Ok(Value::Set(Rc::new(RefCell::new(functions::distinct(items)))))
}

/// The items of `l op r`, for sets.
pub(crate) fn combined(op: BinaryOp, l: &[Value], r: &[Value]) -> Vec<Value> {
    let within = |items: &[Value], item: &Value| items.iter().any(|other| equal(other, item));
    let left = l.iter().filter(|item| match op {
        BinaryOp::Or => true,
        BinaryOp::And => within(r, item),
        _ => !within(r, item),
    });
    let right = r.iter().filter(|item| match op {
        BinaryOp::Or => true,
        BinaryOp::Xor => !within(l, item),
        _ => false,
    });
    left.chain(right).cloned().collect()
}

/// A dictionary of entries whose keys differ.
pub fn dict(entries: Vec<(Value, Value)>) -> Value {
    Value::Dict(Rc::new(RefCell::new(entries)))
}

/// Whether a value is a named tuple's, and of which class.
pub fn named(tuple: &Tuple) -> Option<&str> {
    tuple.class.as_ref().map(|class| &*class.name)
}

#[cfg(test)]
mod tests;
