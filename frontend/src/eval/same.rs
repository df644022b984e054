//! When two values are the same, and when they have the same type: what a branch or a loop may change.

use std::fmt::Write as _;
use std::rc::Rc;

use crate::value::{Instance, Module, Tuple, Value};

impl Value {
    /// The same constant, or made of the same IR values.
    pub(crate) fn same(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::None, Value::None)
            | (Value::Ellipsis, Value::Ellipsis)
            | (Value::Error, Value::Error) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
            (Value::Str(a), Value::Str(b)) | (Value::Opaque(a), Value::Opaque(b)) => a == b,
            (Value::Type(a), Value::Type(b)) => a == b,
            (Value::Tensor(a), Value::Tensor(b)) => a == b,
            (Value::Descriptor(a), Value::Descriptor(b)) => {
                a.value == b.value && a.shape == b.shape && a.strides == b.strides
            }
            (Value::Tuple(a), Value::Tuple(b)) => pairs(a, b, Value::same),
            (Value::Instance(a), Value::Instance(b)) => Rc::ptr_eq(a, b) || fields(a, b, Value::same),
            (Value::Slice(a), Value::Slice(b)) => {
                Rc::ptr_eq(a, b) || a.iter().zip(b.iter()).all(|(a, b)| a.same(b))
            }
            (Value::List(a), Value::List(b)) | (Value::Set(a), Value::Set(b)) => Rc::ptr_eq(a, b),
            (Value::Dict(a), Value::Dict(b)) => Rc::ptr_eq(a, b),
            (Value::Function(a), Value::Function(b)) => Rc::ptr_eq(a, b) || Rc::ptr_eq(&a.def, &b.def),
            (Value::Method(a), Value::Method(b)) => a.0.same(&b.0) && a.1.same(&b.1),
            (Value::Lambda(a), Value::Lambda(b)) => Rc::ptr_eq(&a.lambda, &b.lambda),
            (Value::Builtin(a), Value::Builtin(b)) => a == b,
            (Value::Class(a), Value::Class(b)) => Rc::ptr_eq(a, b),
            (Value::Module(a), Value::Module(b)) => a == b,
            _ => false,
        }
    }

    /// Run-time values of the same type; constants that are the same. What one of two branches gives can stand for
    /// what the other gives.
    pub(crate) fn same_type(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Tensor(a), Value::Tensor(b)) => a.ty == b.ty,
            (Value::Descriptor(a), Value::Descriptor(b)) => {
                a.block == b.block && a.elem == b.elem && a.shape.len() == b.shape.len()
            }
            (Value::Tuple(a), Value::Tuple(b)) => pairs(a, b, Value::same_type),
            (Value::Instance(a), Value::Instance(b)) => fields(a, b, Value::same_type),
            _ => self.same(other),
        }
    }

    /// Its type, for messages about types that differ: that of a run-time value, else what it is.
    pub(crate) fn type_text(&self) -> String {
        match self {
            Value::Tensor(tensor) => format!("`{}`", tensor.ty),
            Value::Tuple(tuple) => {
                let items: Vec<String> = tuple.items.iter().map(Value::type_text).collect();
                format!("({})", items.join(", "))
            }
            other => other.describe(),
        }
    }

    /// Appends what tells its type, or its value where it is a constant, from all others: the same text for two
    /// arguments means that a function compiled for one serves the other.
    pub(crate) fn key(&self, out: &mut String) {
        let _ = match self {
            Value::None => write!(out, "N"),
            Value::Bool(v) => write!(out, "{v}"),
            Value::Int(v) => write!(out, "{v}"),
            Value::Float(v) => write!(out, "f{:x}", v.to_bits()),
            Value::Str(v) => write!(out, "{v:?}"),
            Value::Ellipsis => write!(out, "..."),
            Value::Type(ty) => write!(out, "type {ty:?}"),
            Value::Tensor(tensor) => write!(out, "tensor {}", tensor.ty),
            Value::Descriptor(d) => write!(out, "desc {} {:?} {}", d.elem, d.block, d.shape.len()),
            Value::Tuple(tuple) => {
                out.push('(');
                if let Some(class) = &tuple.class {
                    let _ = write!(out, "{:p}", Rc::as_ptr(class));
                }
                for item in tuple.items.iter() {
                    item.key(out);
                    out.push(',');
                }
                write!(out, ")")
            }
            Value::Instance(instance) => {
                let _ = write!(out, "{:p}{{", Rc::as_ptr(&instance.class));
                for (name, field) in &instance.fields {
                    let _ = write!(out, "{name}=");
                    field.key(out);
                    out.push(',');
                }
                write!(out, "}}")
            }
            Value::Slice(parts) => {
                out.push('[');
                for part in parts.iter() {
                    part.key(out);
                    out.push(':');
                }
                write!(out, "]")
            }
            Value::List(list) | Value::Set(list) => write!(out, "list {:p}", Rc::as_ptr(list)),
            Value::Dict(dict) => write!(out, "dict {:p}", Rc::as_ptr(dict)),
            Value::Function(function) => write!(out, "fn {:p}", Rc::as_ptr(&function.def)),
            Value::Method(method) => {
                method.0.key(out);
                out.push('.');
                method.1.key(out);
                Ok(())
            }
            Value::Lambda(closure) => write!(out, "lambda {:p}", Rc::as_ptr(closure)),
            Value::Builtin(builtin) => write!(out, "{}", builtin.path()),
            Value::Class(class) => write!(out, "class {:p}", Rc::as_ptr(class)),
            Value::Module(Module::File(id)) => write!(out, "file {}", id.0),
            Value::Module(Module::Known(name)) => write!(out, "module {name}"),
            Value::Range(range) => {
                range.start.key(out);
                range.stop.key(out);
                range.step.key(out);
                Ok(())
            }
            Value::Condition(condition) => {
                condition.value.key(out);
                Ok(())
            }
            Value::Opaque(why) => write!(out, "opaque {why}"),
            Value::Error => write!(out, "error"),
        };
    }

    /// Whether a part of it is in error.
    pub(crate) fn has_error(&self) -> bool {
        match self {
            Value::Error => true,
            Value::Tuple(tuple) => tuple.items.iter().any(Value::has_error),
            Value::Instance(instance) => instance.fields.iter().any(|(_, field)| field.has_error()),
            Value::Method(method) => method.0.has_error(),
            Value::Slice(parts) => parts.iter().any(Value::has_error),
            _ => false,
        }
    }
}

fn pairs(a: &Tuple, b: &Tuple, test: fn(&Value, &Value) -> bool) -> bool {
    let class = match (&a.class, &b.class) {
        (Some(a), Some(b)) => Rc::ptr_eq(a, b),
        (None, None) => true,
        _ => false,
    };
    class && a.items.len() == b.items.len() && a.items.iter().zip(b.items.iter()).all(|(a, b)| test(a, b))
}

fn fields(a: &Instance, b: &Instance, test: fn(&Value, &Value) -> bool) -> bool {
    Rc::ptr_eq(&a.class, &b.class)
        && a.fields.len() == b.fields.len()
        && a.fields
            .iter()
            .zip(&b.fields)
            .all(|((a_name, a), (b_name, b))| a_name == b_name && test(a, b))
}
