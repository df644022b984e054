//! Attributes of run-time values, of types and of what Triton's modules hold.

use std::rc::Rc;

use super::{Kind, modules, rows, types};
use crate::cx::{Cx, Result};
use crate::types::{Elem, Ty};
use crate::value::{Descriptor, Module, Tensor, Value};

/// Attributes of tensors that are no methods.
const TENSOR: &[&str] = &["dtype", "type", "shape", "numel", "T"];

/// Attributes of descriptors that are no methods.
const DESCRIPTOR: &[&str] = &["dtype", "type", "shape", "strides", "block_shape", "block_type"];

pub(super) fn tensor_names() -> Vec<&'static str> {
    let methods = rows().filter(|row| row.kind == Kind::Method).map(|row| row.name);
    TENSOR.iter().copied().chain(methods).collect()
}

pub(super) fn descriptor_names() -> Vec<&'static str> {
    let methods = rows()
        .filter(|row| row.kind == Kind::DescriptorMethod)
        .map(|row| row.name);
    DESCRIPTOR.iter().copied().chain(methods).collect()
}

pub(super) fn type_names() -> Vec<&'static str> {
    let methods = rows()
        .filter(|row| row.kind == Kind::TypeMethod)
        .map(|row| row.name);
    types::ATTRIBUTES.iter().copied().chain(methods).collect()
}

impl Cx<'_> {
    /// `value.name` of a run-time value, a type, a module of Triton, or something out of one; `.value` of any
    /// compile-time constant is itself, as `tl.constexpr` has it.
    ///
    /// # Errors
    /// A name that there is not, with the one that may be meant; what this version does not support.
    pub fn attribute(&mut self, value: &Value, name: &str) -> Result<Value> {
        let found = match value {
            Value::Module(Module::Known(module)) => modules::attribute(module, name),
            Value::Builtin(row) => modules::attribute(&format!("{}.{}", row.module, row.name), name),
            Value::Tensor(tensor) => self.tensor_attribute(tensor, name)?,
            Value::Descriptor(descriptor) => descriptor_attribute(descriptor, name),
            Value::Type(ty) => type_attribute(ty, name),
            Value::Tuple(tuple) => tuple.class.as_ref().and_then(|class| {
                let field = class.fields.iter().position(|(field, _)| &**field == name)?;
                tuple.items.get(field).cloned()
            }),
            Value::Opaque(why) => Some(Value::Opaque(why.clone())),
            Value::Error => Some(Value::Error),
            _ => None,
        };
        match found {
            Some(found) => Ok(found),
            None if name == "value" && !value.is_runtime() => Ok(value.clone()),
            None => Err(self.no_attribute(value, name)),
        }
    }

    fn tensor_attribute(&mut self, tensor: &Tensor, name: &str) -> Result<Option<Value>> {
        let shape = match &tensor.ty {
            Ty::Block(shape, _) => Some(*shape),
            _ => None,
        };
        Ok(Some(match name {
            "type" => Value::Type(tensor.ty.clone()),
            "dtype" => Value::Type(match &tensor.ty {
                Ty::Block(_, elem) => Ty::Scalar(*elem),
                other => other.clone(),
            }),
            "shape" => shape.map_or_else(|| Value::tuple(Vec::new()), |shape| types::dims(&shape)),
            "numel" => Value::int(shape.map_or(1, |shape| shape.elements())),
            "T" => match shape {
                Some(shape) if shape.rank() == 2 => self.permute(tensor, &[1, 0])?.into(),
                _ => {
                    let message = format!("`.T` transposes blocks of two dimensions, not `{}`", tensor.ty);
                    return Err(self
                        .error(message)
                        .help("`tl.permute` takes any order of dimensions"));
                }
            },
            name => return Ok(bound(Value::Tensor(tensor.clone()), modules::method(name))),
        }))
    }
}

/// A method with its first argument.
fn bound(receiver: Value, row: Option<&'static super::Builtin>) -> Option<Value> {
    row.map(|row| Value::Method(Rc::new((receiver, Value::Builtin(row)))))
}

fn descriptor_attribute(descriptor: &Rc<Descriptor>, name: &str) -> Option<Value> {
    let scalars = |tensors: &[Tensor]| Value::tuple(tensors.iter().cloned().map(Value::Tensor).collect());
    Some(match name {
        "dtype" => Value::Type(Ty::num(descriptor.elem)),
        "type" => Value::Type(Ty::Descriptor(descriptor.block, descriptor.elem)),
        "block_type" => Value::Type(Ty::Block(descriptor.block, Elem::Num(descriptor.elem))),
        "block_shape" => types::dims(&descriptor.block),
        "shape" => scalars(&descriptor.shape),
        "strides" => scalars(&descriptor.strides),
        name => {
            let row = modules::named(name).find(|row| row.kind == Kind::DescriptorMethod);
            return bound(Value::Descriptor(descriptor.clone()), row);
        }
    })
}

fn type_attribute(ty: &Ty, name: &str) -> Option<Value> {
    types::attribute(ty, name).or_else(|| {
        let row = modules::named(name).find(|row| row.kind == Kind::TypeMethod);
        bound(Value::Type(ty.clone()), row)
    })
}
