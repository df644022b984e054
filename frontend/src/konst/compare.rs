//! Comparison: equality, order, membership, identity.

use std::cmp::Ordering;
use std::rc::Rc;

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::number::{Number, float_to_int, number};
use super::{Result, type_name};
use crate::ast::CompareOp;
use crate::value::{ClassKind, Module, Value};

/// `left op right`, for every operator.
///
/// # Errors
/// Values without an order, containers that cannot be searched, values that are not known.
pub fn compare(op: CompareOp, left: &Value, right: &Value) -> Result<bool> {
    match op {
        CompareOp::Is => return Ok(identical(left, right)),
        CompareOp::IsNot => return Ok(!identical(left, right)),
        _ => {}
    }
    if let (Value::Opaque(why), _) | (_, Value::Opaque(why)) = (left, right) {
        return Err(why.to_string());
    }
    match op {
        CompareOp::Eq => Ok(equal(left, right)),
        CompareOp::Ne => Ok(!equal(left, right)),
        CompareOp::In => contains(right, left),
        CompareOp::NotIn => Ok(!contains(right, left)?),
        _ => {
            let order = order(left, right).map_err(|()| {
                let (l, r) = (type_name(left), type_name(right));
                format!(
                    "`{}` does not compare values of the types {l} and {r}",
                    op.symbol()
                )
            })?;
            Ok(match (op, order) {
                // A NaN is in no order.
                (_, None) => false,
                (CompareOp::Lt, Some(order)) => order.is_lt(),
                (CompareOp::Le, Some(order)) => order.is_le(),
                (CompareOp::Gt, Some(order)) => order.is_gt(),
                (_, Some(order)) => order.is_ge(),
            })
        }
    }
}

/// Most values compared for one `==` of containers: a list may hold itself.
const MAX_COMPARED: usize = 1 << 20;

/// Deepest nesting of containers compared.
const MAX_COMPARED_DEPTH: usize = 64;

/// Python's `==`. Containers nested more than 64 deep, or with more than a million values, are different.
pub fn equal(left: &Value, right: &Value) -> bool {
    let mut left_to_compare = MAX_COMPARED;
    equal_within(left, right, 0, &mut left_to_compare)
}

fn equal_within(left: &Value, right: &Value, depth: usize, budget: &mut usize) -> bool {
    if let (Some(l), Some(r)) = (number(left), number(right)) {
        return number_order(&l, &r) == Some(Ordering::Equal);
    }
    if *budget == 0 || depth > MAX_COMPARED_DEPTH {
        return false;
    }
    *budget -= 1;
    let mut all = |l: &[Value], r: &[Value]| {
        l.len() == r.len()
            && l.iter()
                .zip(r)
                .all(|(l, r)| equal_within(l, r, depth + 1, budget))
    };
    match (left, right) {
        (Value::Str(l), Value::Str(r)) => l == r,
        (Value::Tuple(l), Value::Tuple(r)) => all(&l.items, &r.items),
        (Value::List(l), Value::List(r)) => Rc::ptr_eq(l, r) || all(&l.borrow(), &r.borrow()),
        (Value::Set(l), Value::Set(r)) => {
            let (l, r) = (l.borrow(), r.borrow());
            l.len() == r.len()
                && l.iter()
                    .all(|l| r.iter().any(|r| equal_within(l, r, depth + 1, budget)))
        }
        (Value::Dict(l), Value::Dict(r)) => {
            let (l, r) = (l.borrow(), r.borrow());
            l.len() == r.len()
                && l.iter().all(|(key, value)| {
                    r.iter().any(|(k, v)| {
                        equal_within(key, k, depth + 1, budget) && equal_within(value, v, depth + 1, budget)
                    })
                })
        }
        (Value::Slice(l), Value::Slice(r)) => all(&l[..], &r[..]),
        (Value::Instance(l), Value::Instance(r)) => {
            Rc::ptr_eq(l, r)
                || (same_class(&l.class, &r.class)
                    && !l.fields.is_empty()
                    && l.fields.len() == r.fields.len()
                    && l.fields
                        .iter()
                        .zip(&r.fields)
                        .all(|((_, l), (_, r))| equal_within(l, r, depth + 1, budget)))
        }
        _ => identical(left, right),
    }
}

fn same_class(l: &Rc<crate::value::Class>, r: &Rc<crate::value::Class>) -> bool {
    Rc::ptr_eq(l, r) || (l.name == r.name && l.kind == r.kind && l.kind != ClassKind::Plain)
}

/// Python's `is`: small values of the same type are one object.
pub fn identical(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::None, Value::None) | (Value::Ellipsis, Value::Ellipsis) => true,
        (Value::Bool(l), Value::Bool(r)) => l == r,
        (Value::Int(l), Value::Int(r)) => l == r,
        (Value::Float(l), Value::Float(r)) => l.to_bits() == r.to_bits(),
        (Value::Str(l), Value::Str(r)) => l == r,
        (Value::Type(l), Value::Type(r)) => l == r,
        (Value::Module(l), Value::Module(r)) => match (l, r) {
            (Module::File(l), Module::File(r)) => l == r,
            (Module::Known(l), Module::Known(r)) => l == r,
            _ => false,
        },
        (Value::Function(l), Value::Function(r)) => Rc::ptr_eq(l, r) || Rc::ptr_eq(&l.def, &r.def),
        (Value::Lambda(l), Value::Lambda(r)) => Rc::ptr_eq(l, r),
        (Value::Builtin(l), Value::Builtin(r)) => std::ptr::eq(*l, *r),
        (Value::Class(l), Value::Class(r)) => Rc::ptr_eq(l, r) || same_class(l, r),
        (Value::Tuple(l), Value::Tuple(r)) => Rc::ptr_eq(&l.items, &r.items),
        (Value::List(l), Value::List(r)) | (Value::Set(l), Value::Set(r)) => Rc::ptr_eq(l, r),
        (Value::Dict(l), Value::Dict(r)) => Rc::ptr_eq(l, r),
        (Value::Instance(l), Value::Instance(r)) => {
            Rc::ptr_eq(l, r)
                || (matches!(l.class.kind, ClassKind::Enum | ClassKind::IntEnum) && equal(left, right))
        }
        (Value::Tensor(l), Value::Tensor(r)) => l == r,
        _ => false,
    }
}

/// The order of two values that have one, none with a NaN; an error if they have not.
pub(super) fn order(left: &Value, right: &Value) -> std::result::Result<Option<Ordering>, ()> {
    order_within(left, right, 0)
}

fn order_within(left: &Value, right: &Value, depth: usize) -> std::result::Result<Option<Ordering>, ()> {
    if depth > MAX_COMPARED_DEPTH {
        return Err(());
    }
    if let (Some(l), Some(r)) = (number(left), number(right)) {
        return Ok(number_order(&l, &r));
    }
    match (left, right) {
        (Value::Str(l), Value::Str(r)) => Ok(Some(l.cmp(r))),
        (Value::Tuple(l), Value::Tuple(r)) => sequence_order(&l.items, &r.items, depth),
        (Value::List(l), Value::List(r)) => sequence_order(&l.borrow(), &r.borrow(), depth),
        _ => Err(()),
    }
}

fn sequence_order(l: &[Value], r: &[Value], depth: usize) -> std::result::Result<Option<Ordering>, ()> {
    for (l, r) in l.iter().zip(r) {
        if !equal(l, r) {
            return order_within(l, r, depth + 1);
        }
    }
    Ok(Some(l.len().cmp(&r.len())))
}

/// Exact also between integers and floats.
fn number_order(l: &Number, r: &Number) -> Option<Ordering> {
    match (l, r) {
        (Number::Int(l), Number::Int(r)) => Some(l.cmp(r)),
        (Number::Float(l), Number::Float(r)) => l.partial_cmp(r),
        (Number::Int(l), Number::Float(r)) => int_and_float(l, *r),
        (Number::Float(l), Number::Int(r)) => int_and_float(r, *l).map(Ordering::reverse),
    }
}

fn int_and_float(l: &BigInt, r: f64) -> Option<Ordering> {
    if r.is_nan() {
        return None;
    }
    if r.is_infinite() {
        return Some(if r > 0.0 {
            Ordering::Less
        } else {
            Ordering::Greater
        });
    }
    if l.bits() <= 53 {
        return l.to_i64().and_then(|l| (l as f64).partial_cmp(&r));
    }
    let whole = float_to_int(r)?;
    Some(l.cmp(&whole).then_with(|| 0f64.total_cmp(&(r - r.trunc()))))
}

/// `item in container`.
fn contains(container: &Value, item: &Value) -> Result<bool> {
    match (container, item) {
        (Value::Str(text), Value::Str(part)) => Ok(text.contains(&**part)),
        (Value::Tuple(tuple), _) => Ok(tuple.items.iter().any(|v| equal(v, item))),
        (Value::List(items) | Value::Set(items), _) => Ok(items.borrow().iter().any(|v| equal(v, item))),
        (Value::Dict(entries), _) => Ok(entries.borrow().iter().any(|(k, _)| equal(k, item))),
        (Value::Class(class), _) => Ok(class.members.iter().any(|(_, v)| equal(v, item))),
        _ => Err(format!(
            "`in` does not search a value of type {}",
            type_name(container)
        )),
    }
}
