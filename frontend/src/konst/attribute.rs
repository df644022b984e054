//! Attributes of compile-time values that are no methods.

use super::Result;
use crate::types::{Dtype, Elem, Ty};
use crate::value::{ClassKind, Value};

/// `value.name`; none if there is no such attribute, or it is a method ([`super::methods`]).
pub fn attribute(value: &Value, name: &str) -> Option<Value> {
    match value {
        Value::Instance(instance) => {
            if let Some((_, field)) = instance.fields.iter().find(|(n, _)| &**n == name) {
                return Some(field.clone());
            }
            member(&instance.class.members, name)
        }
        Value::Class(class) if name == "__name__" => Some(Value::str(&class.name)),
        Value::Class(class)
            if name == "__members__" && matches!(class.kind, ClassKind::Enum | ClassKind::IntEnum) =>
        {
            let members = class
                .members
                .iter()
                .filter(|(_, v)| matches!(v, Value::Instance(_)));
            Some(super::dict(
                members.map(|(n, v)| (Value::Str(n.clone()), v.clone())).collect(),
            ))
        }
        Value::Class(class) => member(&class.members, name),
        Value::Tuple(tuple) => {
            let class = tuple.class.as_ref()?;
            let position = class.fields.iter().position(|(n, _)| &**n == name);
            match position {
                Some(at) => tuple.items.get(at).cloned(),
                None => member(&class.members, name),
            }
        }
        Value::Function(function) if matches!(name, "__name__" | "__qualname__") => {
            Some(Value::str(&function.def.ident.name))
        }
        Value::Slice(parts) => match name {
            "start" => Some(parts[0].clone()),
            "stop" => Some(parts[1].clone()),
            "step" => Some(parts[2].clone()),
            _ => None,
        },
        Value::Range(range) => match name {
            "start" => Some(range.start.clone()),
            "stop" => Some(range.stop.clone()),
            "step" => Some(range.step.clone()),
            _ => None,
        },
        Value::Int(_) | Value::Bool(_) if matches!(name, "real" | "numerator") => {
            super::as_int(value).map(Value::Int)
        }
        Value::Int(_) | Value::Bool(_) if name == "imag" => Some(Value::int(0)),
        Value::Int(_) | Value::Bool(_) if name == "denominator" => Some(Value::int(1)),
        Value::Float(_) if name == "real" => Some(value.clone()),
        Value::Type(Ty::Scalar(Elem::Num(dtype))) if name == "itemsize" => Some(Value::int(itemsize(*dtype))),
        _ => None,
    }
}

fn member(members: &[(crate::ast::Name, Value)], name: &str) -> Option<Value> {
    members.iter().find(|(n, _)| &**n == name).map(|(_, v)| v.clone())
}

fn itemsize(dtype: Dtype) -> u32 {
    dtype.bits().div_ceil(8)
}

/// What `torch.finfo(dtype)` or `torch.iinfo(dtype)` says by this name.
///
/// # Errors
/// A type of the other kind.
pub fn type_info(dtype: Dtype, float: bool, name: &str) -> Result<Option<Value>> {
    if dtype.is_float() != float {
        let word = if float { "floating-point" } else { "integer" };
        return Err(format!("`{dtype}` is not a {word} type"));
    }
    if name == "bits" {
        return Ok(Some(Value::int(dtype.bits())));
    }
    if !float {
        let bits = dtype.bits();
        let one = num_bigint::BigInt::from(1);
        let (min, max) = if dtype.is_signed() && bits > 1 {
            (-(one.clone() << (bits - 1)), (one.clone() << (bits - 1)) - 1)
        } else {
            (num_bigint::BigInt::from(0), (one.clone() << bits) - 1)
        };
        return Ok(match name {
            "min" => Some(Value::Int(min)),
            "max" => Some(Value::Int(max)),
            _ => None,
        });
    }
    // Largest, smallest normal, spacing above 1, smallest subnormal.
    let (max, tiny, eps, least) = match dtype {
        Dtype::Fp16 => (65504.0, 2f64.powi(-14), 2f64.powi(-10), 2f64.powi(-24)),
        Dtype::Bf16 => (
            f64::from(f32::from_bits(0x7f7f_0000)),
            2f64.powi(-126),
            2f64.powi(-7),
            2f64.powi(-133),
        ),
        Dtype::Fp32 => (
            f64::from(f32::MAX),
            2f64.powi(-126),
            2f64.powi(-23),
            2f64.powi(-149),
        ),
        Dtype::Fp64 => (f64::MAX, f64::MIN_POSITIVE, f64::EPSILON, f64::from_bits(1)),
        Dtype::Fp8e4nv => (448.0, 2f64.powi(-6), 2f64.powi(-3), 2f64.powi(-9)),
        Dtype::Fp8e5 => (57344.0, 2f64.powi(-14), 2f64.powi(-2), 2f64.powi(-16)),
        Dtype::Fp8e4b8 => (240.0, 2f64.powi(-7), 2f64.powi(-3), 2f64.powi(-10)),
        Dtype::Fp8e5b16 => (57344.0, 2f64.powi(-15), 2f64.powi(-2), 2f64.powi(-17)),
        _ => return Err(format!("`torch.finfo` has no `{dtype}`")),
    };
    Ok(Some(Value::Float(match name {
        "max" => max,
        "min" => -max,
        "eps" => eps,
        "tiny" | "smallest_normal" => tiny,
        "smallest_subnormal" => least,
        "resolution" => match dtype {
            Dtype::Fp16 => 1e-3,
            Dtype::Bf16 => 1e-2,
            Dtype::Fp32 => 1e-6,
            Dtype::Fp64 => 1e-15,
            _ => return Ok(None),
        },
        _ => return Ok(None),
    })))
}
