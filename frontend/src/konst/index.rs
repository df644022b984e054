//! Indexing, slicing, iterating, lengths; entries of dictionaries.

use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};

use super::{Result, as_i64, as_int, bounded_len, compare::equal, list, text, type_name};
use crate::limits;
use crate::value::{ClassKind, Range, Value};

/// `container[index]`.
///
/// # Errors
/// Indices out of range, keys that are not there, values that have no items.
pub fn subscript(container: &Value, index: &Value) -> Result {
    if let Value::Opaque(why) = container {
        return Ok(Value::Opaque(why.clone()));
    }
    if let Value::Dict(entries) = container {
        let entries = entries.borrow();
        let found = entries.iter().find(|(key, _)| equal(key, index));
        return match found {
            Some((_, value)) => Ok(value.clone()),
            None => Err(format!("there is no key {}", text::repr(index))),
        };
    }
    if let (Value::Class(class), Value::Str(name)) = (container, index) {
        let member = class.members.iter().find(|(n, _)| n == name);
        return member
            .map(|(_, v)| v.clone())
            .ok_or_else(|| format!("`{}` has no member `{name}`", class.name));
    }
    if let Value::Slice(parts) = index {
        return sliced(container, parts);
    }
    let Some(position) = as_int(index) else {
        return Err(format!("a value of type {} is no index", type_name(index)));
    };
    let out_of_range = |len: usize| format!("index {position} is out of range of {len} items");
    let at = |len: usize| position_in(&position, len).ok_or_else(|| out_of_range(len));
    match container {
        Value::Tuple(tuple) => Ok(tuple.items[at(tuple.items.len())?].clone()),
        Value::List(items) => {
            let items = items.borrow();
            Ok(items[at(items.len())?].clone())
        }
        Value::Str(text) => {
            let at = at(text.chars().count())?;
            Ok(Value::str(&text.chars().skip(at).take(1).collect::<String>()))
        }
        Value::Range(_) => {
            let items = iterate(container)?;
            Ok(items[at(items.len())?].clone())
        }
        other => Err(format!("a value of type {} has no items", type_name(other))),
    }
}

/// A position counted from the front, or from behind when negative.
fn position_in(position: &BigInt, len: usize) -> Option<usize> {
    let position = if position.is_negative() {
        position + len
    } else {
        position.clone()
    };
    position.to_usize().filter(|at| *at < len)
}

fn sliced(container: &Value, parts: &[Value; 3]) -> Result {
    let pick = |len: usize| positions(parts, len);
    match container {
        Value::Tuple(tuple) => {
            let picked = pick(tuple.items.len())?;
            Ok(Value::tuple(
                picked.into_iter().map(|i| tuple.items[i].clone()).collect(),
            ))
        }
        Value::List(items) => {
            let items = items.borrow();
            Ok(list(
                pick(items.len())?.into_iter().map(|i| items[i].clone()).collect(),
            ))
        }
        Value::Str(text) => {
            let chars: Vec<char> = text.chars().collect();
            Ok(Value::str(
                &pick(chars.len())?
                    .into_iter()
                    .map(|i| chars[i])
                    .collect::<String>(),
            ))
        }
        Value::Range(_) => {
            let items = iterate(container)?;
            Ok(list(
                pick(items.len())?.into_iter().map(|i| items[i].clone()).collect(),
            ))
        }
        other => Err(format!("a value of type {} has no slices", type_name(other))),
    }
}

/// The positions that a slice picks of `len` items.
pub(super) fn positions(parts: &[Value; 3], len: usize) -> Result<Vec<usize>> {
    let bound = |value: &Value| -> Result<Option<BigInt>> {
        match value {
            Value::None => Ok(None),
            value => as_int(value)
                .map(Some)
                .ok_or_else(|| "a slice takes integers".to_string()),
        }
    };
    let len = len as i64;
    let step = bound(&parts[2])?.unwrap_or_else(|| BigInt::from(1));
    if step.is_zero() {
        return Err("a slice's step cannot be 0".to_string());
    }
    let down = step.is_negative();
    let (lowest, highest) = if down { (-1, len - 1) } else { (0, len) };
    let clamp = |value: Option<BigInt>, default: i64| match value {
        None => default,
        Some(value) => {
            let value = if value.is_negative() { value + len } else { value };
            let value = value.max(BigInt::from(lowest)).min(BigInt::from(highest));
            value.to_i64().unwrap_or(default)
        }
    };
    let start = clamp(bound(&parts[0])?, if down { highest } else { lowest });
    let stop = clamp(bound(&parts[1])?, if down { lowest } else { highest });
    // A step longer than the sequence takes one item.
    let step = step.to_i64().map_or(if down { -len - 1 } else { len + 1 }, |s| {
        s.clamp(-len - 1, len + 1)
    });
    let mut picked = Vec::new();
    let mut at = start;
    while if down { at > stop } else { at < stop } {
        picked.push(at as usize);
        at += step;
    }
    Ok(picked)
}

/// All items of a value that can be run through.
///
/// # Errors
/// Values that cannot, ranges over run-time values, more than [`limits::MAX_ITEMS`] items.
pub fn iterate(value: &Value) -> Result<Vec<Value>> {
    match value {
        Value::Tuple(tuple) => Ok(tuple.items.to_vec()),
        Value::List(items) | Value::Set(items) => Ok(items.borrow().clone()),
        Value::Dict(entries) => Ok(entries.borrow().iter().map(|(key, _)| key.clone()).collect()),
        Value::Str(text) => Ok(text
            .chars()
            .map(|c| Value::str(c.encode_utf8(&mut [0; 4])))
            .collect()),
        Value::Range(range) => range_items(range),
        Value::Class(class) if matches!(class.kind, ClassKind::Enum | ClassKind::IntEnum) => {
            let members = class
                .members
                .iter()
                .filter(|(n, _)| !n.starts_with('_'))
                .map(|(_, v)| v.clone());
            Ok(members
                .filter(|v| matches!(v, Value::Instance(_) | Value::Int(_)))
                .collect())
        }
        Value::Opaque(why) => Err(why.to_string()),
        other => Err(format!(
            "a value of type {} cannot be run through",
            type_name(other)
        )),
    }
}

fn range_items(range: &Range) -> Result<Vec<Value>> {
    let bound = |value: &Value| as_int(value).ok_or_else(|| "a range takes integers".to_string());
    let (start, stop, step) = (bound(&range.start)?, bound(&range.stop)?, bound(&range.step)?);
    let count = count(&start, &stop, &step)?;
    bounded_len(count)?;
    let mut items = Vec::with_capacity(count);
    let mut at = start;
    for _ in 0..count {
        items.push(Value::Int(at.clone()));
        at += &step;
    }
    Ok(items)
}

/// How many numbers a range has.
///
/// # Errors
/// A step of 0.
pub fn count(start: &BigInt, stop: &BigInt, step: &BigInt) -> Result<usize> {
    if step.is_zero() {
        return Err("a range's step cannot be 0".to_string());
    }
    let span = if step.is_negative() {
        start - stop
    } else {
        stop - start
    };
    if !span.is_positive() {
        return Ok(0);
    }
    let step = step.abs();
    let count: BigInt = (span + &step - 1) / step;
    Ok(count.to_usize().unwrap_or(usize::MAX))
}

/// Python's `len`.
///
/// # Errors
/// Values without a length.
pub fn len(value: &Value) -> Result<usize> {
    match value {
        Value::Tuple(tuple) => Ok(tuple.items.len()),
        Value::List(items) | Value::Set(items) => Ok(items.borrow().len()),
        Value::Dict(entries) => Ok(entries.borrow().len()),
        Value::Str(text) => Ok(text.chars().count()),
        Value::Range(range) => {
            let bound = |value: &Value| as_int(value).ok_or_else(|| "a range takes integers".to_string());
            count(&bound(&range.start)?, &bound(&range.stop)?, &bound(&range.step)?)
        }
        Value::Class(_) => iterate(value).map(|items| items.len()),
        Value::Opaque(why) => Err(why.to_string()),
        other => Err(format!("a value of type {} has no length", type_name(other))),
    }
}

/// `container[index] = value`.
///
/// # Errors
/// Containers that cannot be changed, indices out of range.
pub fn assign(container: &Value, index: &Value, value: Value) -> Result<()> {
    match container {
        Value::Dict(entries) => insert(&mut entries.borrow_mut(), index.clone(), value),
        Value::List(items) => {
            let mut items = items.borrow_mut();
            let len = items.len();
            let position = as_int(index).ok_or("a list's index is an integer")?;
            match position_in(&position, len) {
                Some(at) => {
                    items[at] = value;
                    Ok(())
                }
                None => Err(format!("index {position} is out of range of {len} items")),
            }
        }
        Value::Opaque(_) => Ok(()),
        other => Err(format!(
            "items of a value of type {} cannot be assigned",
            type_name(other)
        )),
    }
}

/// `del container[index]`.
///
/// # Errors
/// Keys and indices that are not there.
pub fn delete(container: &Value, index: &Value) -> Result<()> {
    match container {
        Value::Dict(entries) => {
            let mut entries = entries.borrow_mut();
            let at = entries.iter().position(|(key, _)| equal(key, index));
            entries.remove(at.ok_or_else(|| format!("there is no key {}", text::repr(index)))?);
            Ok(())
        }
        Value::List(items) => {
            let mut items = items.borrow_mut();
            let at = as_i64(index).and_then(|i| position_in(&i.into(), items.len()));
            items.remove(at.ok_or("the index is out of range")?);
            Ok(())
        }
        other => Err(format!(
            "items of a value of type {} cannot be deleted",
            type_name(other)
        )),
    }
}

/// Adds or replaces an entry of a dictionary.
///
/// # Errors
/// More than [`limits::MAX_ITEMS`] entries.
pub fn insert(entries: &mut Vec<(Value, Value)>, key: Value, value: Value) -> Result<()> {
    let len = entries.len();
    match entries.iter_mut().find(|(k, _)| equal(k, &key)) {
        Some((_, old)) => *old = value,
        // Looking up is linear: a dictionary of a kernel's file has tens of entries.
        None if len >= limits::MAX_ITEMS / 64 => {
            return Err(format!(
                "a dictionary of more than {} entries",
                limits::MAX_ITEMS / 64
            ));
        }
        None => entries.push((key, value)),
    }
    Ok(())
}
