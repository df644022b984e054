//! `str` and `repr` of values.

use std::fmt::Write;

use super::named;
use crate::limits::MAX_ITEMS;
use crate::value::{ClassKind, Value};

/// Deepest nesting of lists, tuples and dictionaries that is written out.
const MAX_NESTING: usize = 64;

/// Python's `str(value)`.
pub fn str(value: &Value) -> String {
    match value {
        Value::Str(text) => text.to_string(),
        Value::Instance(instance) if instance.class.kind == ClassKind::IntEnum => {
            let number = instance.fields.iter().find(|(name, _)| &**name == "value");
            number.map(|(_, v)| repr(v)).unwrap_or_default()
        }
        Value::Instance(instance) if instance.class.kind == ClassKind::Enum => {
            let name = instance.fields.iter().find(|(name, _)| &**name == "name");
            format!(
                "{}.{}",
                instance.class.name,
                name.map(|(_, v)| str(v)).unwrap_or_default()
            )
        }
        other => repr(other),
    }
}

/// Python's `repr(value)`.
pub fn repr(value: &Value) -> String {
    let mut out = String::new();
    write_repr(&mut out, value, 0);
    out
}

fn write_repr(out: &mut String, value: &Value, depth: usize) {
    // A list may hold itself, or be held many times.
    if depth > MAX_NESTING || out.len() > MAX_ITEMS {
        out.push_str("...");
        return;
    }
    let sequence = |out: &mut String, items: &[Value]| {
        for (i, item) in items.iter().enumerate() {
            if out.len() > MAX_ITEMS {
                break;
            }
            if i > 0 {
                out.push_str(", ");
            }
            write_repr(out, item, depth + 1);
        }
    };
    // Writing to a string does not fail.
    let _ = match value {
        Value::None => write!(out, "None"),
        Value::Bool(true) => write!(out, "True"),
        Value::Bool(false) => write!(out, "False"),
        Value::Int(int) => write!(out, "{int}"),
        Value::Float(float) => write!(out, "{}", float_repr(*float)),
        Value::Str(text) => write!(out, "{}", str_repr(text)),
        Value::Ellipsis => write!(out, "Ellipsis"),
        Value::Type(ty) => write!(out, "{ty}"),
        Value::Slice(parts) => {
            out.push_str("slice(");
            sequence(out, &parts[..]);
            write!(out, ")")
        }
        Value::Tuple(tuple) => match (named(tuple), &tuple.class) {
            (Some(name), Some(class)) => {
                let _ = write!(out, "{name}(");
                for (i, (item, (field, _))) in tuple.items.iter().zip(&class.fields).enumerate() {
                    let _ = write!(out, "{}{field}=", if i > 0 { ", " } else { "" });
                    write_repr(out, item, depth + 1);
                }
                write!(out, ")")
            }
            _ => {
                out.push('(');
                sequence(out, &tuple.items);
                write!(out, "{}", if tuple.items.len() == 1 { ",)" } else { ")" })
            }
        },
        Value::List(items) => {
            out.push('[');
            sequence(out, &items.borrow());
            write!(out, "]")
        }
        Value::Set(items) if items.borrow().is_empty() => write!(out, "set()"),
        Value::Set(items) => {
            out.push('{');
            sequence(out, &items.borrow());
            write!(out, "}}")
        }
        Value::Dict(entries) => {
            out.push('{');
            for (i, (key, value)) in entries.borrow().iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                write_repr(out, key, depth + 1);
                out.push_str(": ");
                write_repr(out, value, depth + 1);
            }
            write!(out, "}}")
        }
        Value::Instance(instance) if matches!(instance.class.kind, ClassKind::Enum | ClassKind::IntEnum) => {
            let field = |name: &str| instance.fields.iter().find(|(n, _)| &**n == name).map(|(_, v)| v);
            let name = field("name").map(str).unwrap_or_default();
            let value = field("value").map(repr).unwrap_or_default();
            write!(out, "<{}.{name}: {value}>", instance.class.name)
        }
        Value::Instance(instance) => {
            let _ = write!(out, "{}(", instance.class.name);
            for (i, (name, value)) in instance.fields.iter().enumerate() {
                let _ = write!(out, "{}{name}=", if i > 0 { ", " } else { "" });
                write_repr(out, value, depth + 1);
            }
            write!(out, ")")
        }
        Value::Function(function) => write!(out, "<function {}>", function.def.ident.name),
        Value::Lambda(_) => write!(out, "<function <lambda>>"),
        Value::Method(_) => write!(out, "<method>"),
        Value::Builtin(builtin) => write!(out, "<built-in function {}>", builtin.name),
        Value::Class(class) => write!(out, "<class '{}'>", class.name),
        Value::Module(crate::value::Module::Known(name)) => write!(out, "<module '{name}'>"),
        Value::Module(crate::value::Module::File(_)) => write!(out, "<module>"),
        Value::Tensor(tensor) => write!(out, "<tensor {}>", tensor.ty),
        Value::Descriptor(_) => write!(out, "<tensor descriptor>"),
        Value::Range(range) => {
            out.push_str("range(");
            sequence(
                out,
                &[range.start.clone(), range.stop.clone(), range.step.clone()],
            );
            write!(out, ")")
        }
        Value::Condition(_) | Value::Opaque(_) | Value::Error => write!(out, "<unknown>"),
    };
}

/// The shortest text that reads back as the same float.
pub fn float_repr(float: f64) -> String {
    if float.is_nan() {
        return "nan".to_string();
    }
    if float.is_infinite() {
        return if float > 0.0 { "inf" } else { "-inf" }.to_string();
    }
    let scientific = format!("{float:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let text = format!("{float}");
        return if text.contains('.') {
            text
        } else {
            format!("{text}.0")
        };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

/// A string with quotes and escapes.
pub fn str_repr(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for c in text.chars() {
        // Writing to a string does not fail.
        let _ = match c {
            '\\' => write!(out, "\\\\"),
            '\n' => write!(out, "\\n"),
            '\r' => write!(out, "\\r"),
            '\t' => write!(out, "\\t"),
            c if c == quote => write!(out, "\\{c}"),
            c if c.is_control() || matches!(c, '\u{a0}' | '\u{ad}') => write!(out, "\\x{:02x}", c as u32),
            c => write!(out, "{c}"),
        };
    }
    out.push(quote);
    out
}

/// A string as `ascii` gives it.
pub fn ascii(value: &Value) -> String {
    let mut out = String::new();
    for c in repr(value).chars() {
        let code = c as u32;
        // Writing to a string does not fail.
        let _ = match code {
            0..0x80 => write!(out, "{c}"),
            0x80..0x100 => write!(out, "\\x{code:02x}"),
            0x100..0x1_0000 => write!(out, "\\u{code:04x}"),
            _ => write!(out, "\\U{code:08x}"),
        };
    }
    out
}
