//! Methods of strings, lists, dictionaries, tuples and numbers.

use super::number::{Number, number};
use super::{
    Result, as_i64, as_int, bounded_len, compare::equal, compare::order, dict, format, index, list, text,
    type_name,
};
use crate::ast::{BinaryOp, Name};
use crate::value::Value;

/// Arguments of a method.
pub struct Given<'a> {
    /// Positional.
    pub args: &'a [Value],
    /// By name.
    pub keywords: &'a [(Name, Value)],
}

impl Given<'_> {
    fn text(&self, at: usize) -> Result<&str> {
        match self.args.get(at) {
            Some(Value::Str(text)) => Ok(text),
            Some(other) => Err(format!(
                "the argument is to be a string, not a value of type {}",
                type_name(other)
            )),
            None => Err("an argument is missing".to_string()),
        }
    }

    fn value(&self, at: usize) -> Result<&Value> {
        self.args
            .get(at)
            .ok_or_else(|| "an argument is missing".to_string())
    }
}

/// Whether a compile-time value has a method of this name.
pub fn has(value: &Value, name: &str) -> bool {
    let names: &[&str] = match value {
        Value::Str(_) => &[
            "capitalize",
            "count",
            "endswith",
            "find",
            "format",
            "index",
            "isalnum",
            "isalpha",
            "isdigit",
            "islower",
            "isupper",
            "join",
            "ljust",
            "lower",
            "lstrip",
            "partition",
            "removeprefix",
            "removesuffix",
            "replace",
            "rfind",
            "rjust",
            "rpartition",
            "rsplit",
            "rstrip",
            "split",
            "splitlines",
            "startswith",
            "strip",
            "title",
            "upper",
            "zfill",
        ],
        Value::List(_) => &[
            "append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse",
            "sort",
        ],
        Value::Set(_) => &[
            "add",
            "copy",
            "difference",
            "discard",
            "intersection",
            "issubset",
            "symmetric_difference",
            "union",
            "update",
        ],
        Value::Tuple(_) => &["count", "index", "_asdict", "_replace"],
        Value::Dict(_) => &[
            "clear",
            "copy",
            "get",
            "items",
            "keys",
            "pop",
            "setdefault",
            "update",
            "values",
        ],
        Value::Int(_) | Value::Bool(_) => &["bit_count", "bit_length", "is_integer"],
        Value::Float(_) => &["is_integer"],
        _ => &[],
    };
    names.contains(&name)
}

/// `value.name(…)`.
///
/// # Errors
/// No such method, and what Python refuses.
pub fn call(value: &Value, name: &str, given: &Given<'_>) -> Result {
    let result = match value {
        Value::Str(text) => string(text, name, given)?,
        Value::List(items) => list_method(items, name, given)?,
        Value::Set(items) => set_method(items, name, given)?,
        Value::Tuple(tuple) => match name {
            "_asdict" | "_replace" => named_tuple(tuple, name, given)?,
            _ => sequence(&tuple.items, name, given)?,
        },
        Value::Dict(entries) => dict_method(entries, name, given)?,
        Value::Int(_) | Value::Bool(_) | Value::Float(_) => number_method(value, name)?,
        Value::Opaque(why) => return Ok(Value::Opaque(why.clone())),
        _ => None,
    };
    result.ok_or_else(|| format!("a value of type {} has no method `{name}`", type_name(value)))
}

fn string(text: &str, name: &str, given: &Given<'_>) -> Result<Option<Value>> {
    let strip = |given: &Given<'_>| -> Result<Vec<char>> {
        Ok(match given.args.first() {
            None | Some(Value::None) => " \t\n\r\x0b\x0c".chars().collect(),
            Some(_) => given.text(0)?.chars().collect(),
        })
    };
    let position = |at: Option<usize>| match at {
        Some(byte) => Value::int(text[..byte].chars().count()),
        None => Value::int(-1),
    };
    let any = |test: &dyn Fn(&str) -> bool| -> Result<bool> {
        Ok(match given.value(0)? {
            Value::Tuple(options) => options
                .items
                .iter()
                .any(|o| matches!(o, Value::Str(o) if test(o))),
            _ => test(given.text(0)?),
        })
    };
    let every = |test: fn(char) -> bool| Value::Bool(!text.is_empty() && text.chars().all(test));
    Ok(Some(match name {
        "lower" => Value::str(&text.to_lowercase()),
        "upper" => Value::str(&text.to_uppercase()),
        "capitalize" | "title" => Value::str(&titled(text, name == "title")),
        "strip" => {
            let set = strip(given)?;
            Value::str(text.trim_matches(|c| set.contains(&c)))
        }
        "lstrip" => {
            let set = strip(given)?;
            Value::str(text.trim_start_matches(|c| set.contains(&c)))
        }
        "rstrip" => {
            let set = strip(given)?;
            Value::str(text.trim_end_matches(|c| set.contains(&c)))
        }
        "removeprefix" => Value::str(text.strip_prefix(given.text(0)?).unwrap_or(text)),
        "removesuffix" => Value::str(text.strip_suffix(given.text(0)?).unwrap_or(text)),
        "startswith" => Value::Bool(any(&|p| text.starts_with(p))?),
        "endswith" => Value::Bool(any(&|p| text.ends_with(p))?),
        "find" => position(text.find(given.text(0)?)),
        "rfind" => position(text.rfind(given.text(0)?)),
        "index" => match text.find(given.text(0)?) {
            None => return Err(format!("{} is not in the string", text::repr(given.value(0)?))),
            found => position(found),
        },
        "count" => Value::int(match given.text(0)? {
            "" => text.chars().count() + 1,
            part => text.matches(part).count(),
        }),
        "replace" => {
            let (old, new) = (given.text(0)?, given.text(1)?);
            let most = given
                .args
                .get(2)
                .and_then(as_i64)
                .and_then(|n| usize::try_from(n).ok());
            let times = text.matches(old).count().min(most.unwrap_or(usize::MAX));
            bounded_len(text.len().saturating_add(times.saturating_mul(new.len())))?;
            Value::str(&text.replacen(old, new, most.unwrap_or(usize::MAX)))
        }
        "join" => {
            let items = index::iterate(given.value(0)?)?;
            let mut joined = String::new();
            for (i, item) in items.iter().enumerate() {
                let Value::Str(item) = item else {
                    return Err("`join` takes strings".to_string());
                };
                joined.push_str(if i > 0 { text } else { "" });
                joined.push_str(item);
                bounded_len(joined.len())?;
            }
            Value::str(&joined)
        }
        "split" | "rsplit" => split(text, name == "rsplit", given)?,
        "splitlines" => list(text.lines().map(Value::str).collect()),
        "partition" | "rpartition" => {
            let separator = given.text(0)?;
            let found = if name == "partition" {
                text.split_once(separator)
            } else {
                text.rsplit_once(separator)
            };
            let parts = match found {
                Some((before, after)) => [before, separator, after],
                None if name == "partition" => [text, "", ""],
                None => ["", "", text],
            };
            Value::tuple(parts.into_iter().map(Value::str).collect())
        }
        "zfill" | "ljust" | "rjust" => {
            let width = given
                .args
                .first()
                .and_then(as_i64)
                .ok_or("a width is an integer")?;
            let align = if name == "ljust" { '<' } else { '>' };
            let fill = match (name, given.args.get(1)) {
                ("zfill", _) => "0",
                (_, Some(Value::Str(fill))) => fill,
                _ => " ",
            };
            let signed = name == "zfill" && text.starts_with(['+', '-']);
            let (sign, rest) = if signed { text.split_at(1) } else { ("", text) };
            let width = width.max(0) - sign.len() as i64;
            Value::str(&format!(
                "{sign}{}",
                format::format(&Value::str(rest), &format!("{fill}{align}{}", width.max(0)))?
            ))
        }
        "format" => Value::str(&format::str_format(text, given.args, given.keywords)?),
        "isdigit" => every(|c| c.is_ascii_digit()),
        "isalpha" => every(char::is_alphabetic),
        "isalnum" => every(char::is_alphanumeric),
        "isupper" => {
            Value::Bool(text.chars().any(char::is_uppercase) && !text.chars().any(char::is_lowercase))
        }
        "islower" => {
            Value::Bool(text.chars().any(char::is_lowercase) && !text.chars().any(char::is_uppercase))
        }
        _ => return Ok(None),
    }))
}

fn titled(text: &str, every_word: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut start = true;
    for c in text.chars() {
        if start {
            out.extend(c.to_uppercase());
        } else {
            out.extend(c.to_lowercase());
        }
        start = every_word && !c.is_alphabetic();
    }
    out
}

fn split(text: &str, from_right: bool, given: &Given<'_>) -> Result {
    let named = |name: &str| given.keywords.iter().find(|(n, _)| &**n == name).map(|(_, v)| v);
    let most = given.args.get(1).or_else(|| named("maxsplit")).and_then(as_i64);
    let most = most
        .and_then(|n| usize::try_from(n).ok())
        .map_or(usize::MAX, |n| n.saturating_add(1));
    let mut parts: Vec<Value> = match given.args.first().or_else(|| named("sep")) {
        None | Some(Value::None) if most == usize::MAX => text.split_whitespace().map(Value::str).collect(),
        None | Some(Value::None) => return Err("`split` by white space takes no maximum here".to_string()),
        Some(Value::Str(separator)) if !separator.is_empty() => {
            if from_right {
                let mut parts: Vec<Value> = text.rsplitn(most, &**separator).map(Value::str).collect();
                parts.reverse();
                parts
            } else {
                text.splitn(most, &**separator).map(Value::str).collect()
            }
        }
        Some(_) => return Err("a separator is a string that is not empty".to_string()),
    };
    parts.shrink_to_fit();
    Ok(list(parts))
}

/// `count` and `index` of lists and tuples.
fn sequence(items: &[Value], name: &str, given: &Given<'_>) -> Result<Option<Value>> {
    let wanted = given.value(0);
    Ok(Some(match name {
        "count" => {
            let wanted = wanted?;
            Value::int(items.iter().filter(|v| equal(v, wanted)).count())
        }
        "index" => {
            let wanted = wanted?;
            let at = items.iter().position(|v| equal(v, wanted));
            Value::int(at.ok_or_else(|| format!("{} is not in it", text::repr(wanted)))?)
        }
        _ => return Ok(None),
    }))
}

fn named_tuple(tuple: &crate::value::Tuple, name: &str, given: &Given<'_>) -> Result<Option<Value>> {
    let Some(class) = &tuple.class else {
        return Ok(None);
    };
    let fields = class
        .fields
        .iter()
        .map(|(field, _)| field)
        .zip(tuple.items.iter());
    if name == "_asdict" {
        return Ok(Some(dict(
            fields.map(|(f, v)| (Value::Str(f.clone()), v.clone())).collect(),
        )));
    }
    let items = fields.map(|(field, value)| {
        let new = given.keywords.iter().find(|(n, _)| n == field).map(|(_, v)| v);
        new.unwrap_or(value).clone()
    });
    Ok(Some(Value::Tuple(crate::value::Tuple {
        items: items.collect(),
        class: tuple.class.clone(),
    })))
}

type Items = std::rc::Rc<std::cell::RefCell<Vec<Value>>>;

fn list_method(cell: &Items, name: &str, given: &Given<'_>) -> Result<Option<Value>> {
    // Arguments are looked at before the list is borrowed to be changed: it may be among them.
    let len = cell.borrow().len();
    match name {
        "append" => {
            bounded_len(len + 1)?;
            let item = given.value(0)?.clone();
            cell.borrow_mut().push(item);
        }
        "extend" => {
            let more = index::iterate(given.value(0)?)?;
            bounded_len(len + more.len())?;
            cell.borrow_mut().extend(more);
        }
        "insert" => {
            bounded_len(len + 1)?;
            let at = given
                .args
                .first()
                .and_then(as_i64)
                .ok_or("a position is an integer")?;
            let at = if at < 0 {
                (len as i64 + at).max(0)
            } else {
                at.min(len as i64)
            };
            cell.borrow_mut().insert(at as usize, given.value(1)?.clone());
        }
        "pop" => {
            let at = given
                .args
                .first()
                .map_or(Some(-1), as_i64)
                .ok_or("a position is an integer")?;
            let at = if at < 0 { len as i64 + at } else { at };
            let at = usize::try_from(at)
                .ok()
                .filter(|at| *at < len)
                .ok_or("the list has no such item")?;
            return Ok(Some(cell.borrow_mut().remove(at)));
        }
        "remove" => {
            let wanted = given.value(0)?;
            let at = cell.borrow().iter().position(|v| equal(v, wanted));
            cell.borrow_mut()
                .remove(at.ok_or_else(|| format!("{} is not in the list", text::repr(wanted)))?);
        }
        "clear" => cell.borrow_mut().clear(),
        "reverse" => cell.borrow_mut().reverse(),
        "copy" => return Ok(Some(list(cell.borrow().clone()))),
        "sort" if !given.keywords.iter().any(|(n, _)| &**n == "key") => {
            let reverse = given.keywords.iter().find(|(n, _)| &**n == "reverse");
            let reverse = reverse.map_or(Ok(false), |(_, v)| super::truth(v))?;
            let sorted = sorted(cell.borrow().clone(), reverse)?;
            *cell.borrow_mut() = sorted;
        }
        _ => return sequence(&cell.borrow(), name, given),
    }
    Ok(Some(Value::None))
}

fn set_method(cell: &Items, name: &str, given: &Given<'_>) -> Result<Option<Value>> {
    let own = cell.borrow().clone();
    let others = |given: &Given<'_>| given.args.iter().map(index::iterate).collect::<Result<Vec<_>>>();
    let op = match name {
        "union" | "update" => BinaryOp::Or,
        "intersection" => BinaryOp::And,
        "symmetric_difference" => BinaryOp::Xor,
        _ => BinaryOp::Sub,
    };
    let joined = |more: Vec<Vec<Value>>| -> Result<Value> {
        let mut all = own.clone();
        for items in more {
            let Value::Set(items) = super::set(items)? else {
                continue;
            };
            all = super::combined(op, &all, &items.borrow());
        }
        super::set(all)
    };
    let changed = |items: Value| {
        if let Value::Set(items) = items {
            cell.replace(items.take());
        }
        Ok(Some(Value::None))
    };
    match name {
        "union" | "intersection" | "difference" | "symmetric_difference" => joined(others(given)?).map(Some),
        "update" => changed(joined(others(given)?)?),
        "add" => {
            bounded_len(own.len() + 1)?;
            let mut all = own.clone();
            all.push(given.value(0)?.clone());
            changed(super::set(all)?)
        }
        "discard" => {
            let item = std::slice::from_ref(given.value(0)?);
            changed(super::set(super::combined(BinaryOp::Sub, &own, item))?)
        }
        "issubset" => {
            let other = index::iterate(given.value(0)?)?;
            let all = own
                .iter()
                .all(|item| other.iter().any(|other| equal(item, other)));
            Ok(Some(Value::Bool(all)))
        }
        "copy" => super::set(own.clone()).map(Some),
        _ => Ok(None),
    }
}

/// Values in rising (or, keeping equal ones in place, falling) order.
///
/// # Errors
/// Values without an order.
pub fn sorted(items: Vec<Value>, reverse: bool) -> Result<Vec<Value>> {
    let keyed = items.into_iter().map(|v| (v.clone(), v)).collect();
    sorted_by_key(keyed, reverse)
}

/// Values in the order of their keys, which stand before them.
///
/// # Errors
/// Keys without an order.
pub fn sorted_by_key(mut items: Vec<(Value, Value)>, reverse: bool) -> Result<Vec<Value>> {
    let mut comparable = true;
    // NaNs are in no order with anything: like Python's, the result is then some order.
    items.sort_by(|(l, _), (r, _)| {
        let order = order(l, r).unwrap_or_else(|()| {
            comparable = false;
            None
        });
        let order = order.unwrap_or(std::cmp::Ordering::Equal);
        if reverse { order.reverse() } else { order }
    });
    if !comparable {
        return Err("the values have no order".to_string());
    }
    Ok(items.into_iter().map(|(_, v)| v).collect())
}

type Entries = std::rc::Rc<std::cell::RefCell<Vec<(Value, Value)>>>;

fn dict_method(cell: &Entries, name: &str, given: &Given<'_>) -> Result<Option<Value>> {
    let find = |key: &Value| {
        cell.borrow()
            .iter()
            .find(|(k, _)| equal(k, key))
            .map(|(_, v)| v.clone())
    };
    Ok(Some(match name {
        "get" => find(given.value(0)?).unwrap_or_else(|| given.args.get(1).cloned().unwrap_or(Value::None)),
        "keys" => list(cell.borrow().iter().map(|(k, _)| k.clone()).collect()),
        "values" => list(cell.borrow().iter().map(|(_, v)| v.clone()).collect()),
        "items" => {
            let pairs = cell
                .borrow()
                .iter()
                .map(|(k, v)| Value::tuple(vec![k.clone(), v.clone()]))
                .collect();
            list(pairs)
        }
        "copy" => dict(cell.borrow().clone()),
        "clear" => {
            cell.borrow_mut().clear();
            Value::None
        }
        "pop" => {
            let key = given.value(0)?;
            let at = cell.borrow().iter().position(|(k, _)| equal(k, key));
            match (at, given.args.get(1)) {
                (Some(at), _) => cell.borrow_mut().remove(at).1,
                (None, Some(default)) => default.clone(),
                (None, None) => return Err(format!("there is no key {}", text::repr(key))),
            }
        }
        "setdefault" => {
            let key = given.value(0)?;
            match find(key) {
                Some(value) => value,
                None => {
                    let value = given.args.get(1).cloned().unwrap_or(Value::None);
                    index::insert(&mut cell.borrow_mut(), key.clone(), value.clone())?;
                    value
                }
            }
        }
        "update" => {
            let mut new = Vec::new();
            match given.args.first() {
                None => {}
                Some(Value::Dict(other)) => new.extend(other.borrow().iter().cloned()),
                Some(pairs) => {
                    for pair in index::iterate(pairs)? {
                        new.push((
                            index::subscript(&pair, &Value::int(0))?,
                            index::subscript(&pair, &Value::int(1))?,
                        ));
                    }
                }
            }
            new.extend(
                given
                    .keywords
                    .iter()
                    .map(|(n, v)| (Value::Str(n.clone()), v.clone())),
            );
            for (key, value) in new {
                index::insert(&mut cell.borrow_mut(), key, value)?;
            }
            Value::None
        }
        _ => return Ok(None),
    }))
}

fn number_method(value: &Value, name: &str) -> Result<Option<Value>> {
    Ok(match (name, number(value)) {
        ("bit_length", Some(Number::Int(int))) => Some(Value::int(int.bits())),
        ("bit_count", Some(Number::Int(int))) => Some(Value::int(
            int.magnitude()
                .iter_u64_digits()
                .map(|d| u64::from(d.count_ones()))
                .sum::<u64>(),
        )),
        ("is_integer", Some(Number::Int(_))) => Some(Value::Bool(true)),
        ("is_integer", Some(Number::Float(float))) => {
            Some(Value::Bool(float.is_finite() && float.fract() == 0.0))
        }
        _ => as_int(value).and(None),
    })
}
