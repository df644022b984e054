//! What an expression of a kernel evaluates to.
//!
//! Compile-time values are plain data; Triton wraps them in `tl.constexpr`, which changes nothing here: every
//! value but [`Value::Tensor`], [`Value::Descriptor`] and what contains them is known at compile time.

use std::cell::RefCell;
use std::rc::Rc;

use num_bigint::BigInt;
use tilescope_ir::{Shape, ValueId};

use crate::ast::{FunctionDef, Lambda, Name};
use crate::language::Builtin;
use crate::source::ModuleId;
use crate::types::{Dtype, Ty};

/// A value.
#[derive(Debug, Clone)]
pub enum Value {
    /// `None`.
    None,
    /// `True`, `False`.
    Bool(bool),
    /// An integer of any size (bounded by [`crate::limits`]).
    Int(BigInt),
    /// A float.
    Float(f64),
    /// A string.
    Str(Rc<str>),
    /// `...`.
    Ellipsis,
    /// `a:b:c` inside of a subscript.
    Slice(Rc<[Value; 3]>),
    /// A type: `tl.float32`, `x.dtype`, `tl.pointer_type(tl.int8)`.
    Type(Ty),
    /// A tuple, a list in a kernel, a named tuple.
    Tuple(Tuple),
    /// A list of host code: heuristics, autotune, module level.
    List(Rc<RefCell<Vec<Value>>>),
    /// A set of host code: items that differ, in order of insertion (Python's own order is none that one can rely on).
    Set(Rc<RefCell<Vec<Value>>>),
    /// A dictionary of host code, in order of insertion.
    Dict(Rc<RefCell<Vec<(Value, Value)>>>),
    /// A run-time number, pointer, block or block pointer.
    Tensor(Tensor),
    /// A run-time tensor descriptor.
    Descriptor(Rc<Descriptor>),
    /// An instance of an aggregate (`@triton.language.core._aggregate`), or of a class at module level.
    Instance(Rc<Instance>),
    /// What a `for` runs through: `range(…)`, `tl.range(…)`, `tl.static_range(…)`.
    Range(Rc<Range>),
    /// `tl.condition(…)`, of a `while`.
    Condition(Rc<Condition>),
    /// A function of a Python file.
    Function(Rc<Function>),
    /// A function bound to its first argument.
    Method(Rc<(Value, Value)>),
    /// `lambda`.
    Lambda(Rc<Closure>),
    /// A function of `triton.language`, of Python, …: the tables in [`crate::language`].
    Builtin(&'static Builtin),
    /// A class: an aggregate, a named tuple, an enum.
    Class(Rc<Class>),
    /// A module.
    Module(Module),
    /// Something of a library that we do not know: an error only where a kernel uses it. Why, in words.
    Opaque(Rc<str>),
    /// What a statement in error would have assigned: uses of it are not reported again.
    Error,
}

/// A run-time value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor {
    /// In the function being built.
    pub value: ValueId,
    /// [`Ty::Scalar`], [`Ty::Block`] or [`Ty::BlockPtr`].
    pub ty: Ty,
}

/// A tuple.
#[derive(Debug, Clone)]
pub struct Tuple {
    /// Its elements.
    pub items: Rc<[Value]>,
    /// The names of a named tuple's fields.
    pub class: Option<Rc<Class>>,
}

/// A tensor descriptor: the IR's value, and what `desc.shape` and `desc.strides` give.
#[derive(Debug, Clone)]
pub struct Descriptor {
    /// The `!tt.tensordesc`.
    pub value: ValueId,
    /// `i32` scalars.
    pub shape: Vec<Tensor>,
    /// `i64` scalars.
    pub strides: Vec<Tensor>,
    /// The block.
    pub block: Shape,
    /// Its elements.
    pub elem: Dtype,
}

/// An instance of a class with its fields, in order.
#[derive(Debug, Clone)]
pub struct Instance {
    /// Its class.
    pub class: Rc<Class>,
    /// Values of the fields.
    pub fields: Vec<(Name, Value)>,
}

/// The numbers that a `for` runs through.
#[derive(Debug, Clone)]
pub struct Range {
    /// The first number.
    pub start: Value,
    /// The bound, not reached.
    pub stop: Value,
    /// The step; 1 if it was not given.
    pub step: Value,
    /// `tl.static_range`: unrolled at compile time; all bounds are compile-time integers.
    pub is_static: bool,
    /// The other arguments of `tl.range`, by name (`num_stages`, `loop_unroll_factor`, …), defaults too.
    pub hints: Vec<(&'static str, Value)>,
}

/// The condition of a `while` with its hint.
#[derive(Debug, Clone)]
pub struct Condition {
    /// The condition.
    pub value: Value,
    /// `disable_licm=True`.
    pub disable_licm: bool,
}

/// What kind of function a Python function is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionKind {
    /// `@triton.jit`: builds IR.
    Jit {
        /// `noinline=True`.
        noinline: bool,
    },
    /// `@triton.constexpr_function`: runs at compile time on compile-time values.
    Constexpr,
    /// Without either: runs at compile time too, but kernels may not name it (they may call it as
    /// `module.function`).
    Host,
}

/// A function of a Python file.
#[derive(Debug)]
pub struct Function {
    /// Its text.
    pub def: Rc<FunctionDef>,
    /// Where its globals are.
    pub module: ModuleId,
    /// What it does when called.
    pub kind: FunctionKind,
    /// The class that it is a method of, for its qualified name.
    pub class: Option<Name>,
    /// Variables of enclosing functions.
    pub captured: Vec<(Name, Value)>,
}

/// A lambda with the scope it was made in.
#[derive(Debug)]
pub struct Closure {
    /// Its text.
    pub lambda: Rc<Lambda>,
    /// Where its globals are.
    pub module: ModuleId,
    /// Variables of enclosing functions.
    pub captured: Vec<(Name, Value)>,
}

/// What kind of class it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClassKind {
    /// `@_aggregate`.
    Aggregate,
    /// `NamedTuple`, `namedtuple(…)`.
    NamedTuple,
    /// `Enum`: members are instances with the fields `name` and `value`.
    Enum,
    /// `IntEnum`, `IntFlag`: members are integers too.
    IntEnum,
    /// Any other: a data class, or a class whose attributes are constants.
    Plain,
}

/// A class.
#[derive(Debug)]
pub struct Class {
    /// Its name.
    pub name: Name,
    /// Its kind.
    pub kind: ClassKind,
    /// Fields with their annotations, in order.
    pub fields: Vec<(Name, Value)>,
    /// Methods and class attributes.
    pub members: Vec<(Name, Value)>,
}

/// A module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Module {
    /// A Python file.
    File(ModuleId),
    /// A library known to us by its dotted name: `triton`, `triton.language`, `torch`, `math`.
    Known(Rc<str>),
}

impl Value {
    /// An integer.
    pub fn int(value: impl Into<BigInt>) -> Value {
        Value::Int(value.into())
    }

    /// A string.
    pub fn str(value: &str) -> Value {
        Value::Str(value.into())
    }

    /// A tuple without names.
    pub fn tuple(items: Vec<Value>) -> Value {
        Value::Tuple(Tuple {
            items: items.into(),
            class: None,
        })
    }

    /// Whether any part of it is known only at run time.
    pub fn is_runtime(&self) -> bool {
        match self {
            Value::Tensor(_) | Value::Descriptor(_) => true,
            Value::Tuple(tuple) => tuple.items.iter().any(Value::is_runtime),
            Value::Instance(instance) => instance.fields.iter().any(|(_, v)| v.is_runtime()),
            _ => false,
        }
    }

    /// Appends the IR values that it consists of, in order.
    pub fn flatten(&self, out: &mut Vec<ValueId>) {
        match self {
            Value::Tensor(tensor) => out.push(tensor.value),
            Value::Descriptor(d) => {
                out.push(d.value);
                out.extend(d.shape.iter().chain(&d.strides).map(|t| t.value));
            }
            Value::Tuple(tuple) => tuple.items.iter().for_each(|v| v.flatten(out)),
            Value::Instance(instance) => instance.fields.iter().for_each(|(_, v)| v.flatten(out)),
            _ => {}
        }
    }

    /// The same value made of other IR values, taken in the order of [`Value::flatten`]; ids that are missing stay.
    pub fn rebuild(&self, values: &mut dyn Iterator<Item = ValueId>) -> Value {
        let tensor = |t: &Tensor, values: &mut dyn Iterator<Item = ValueId>| Tensor {
            value: values.next().unwrap_or(t.value),
            ty: t.ty.clone(),
        };
        match self {
            Value::Tensor(t) => Value::Tensor(tensor(t, values)),
            Value::Descriptor(d) => Value::Descriptor(Rc::new(Descriptor {
                value: values.next().unwrap_or(d.value),
                shape: d.shape.iter().map(|t| tensor(t, values)).collect(),
                strides: d.strides.iter().map(|t| tensor(t, values)).collect(),
                block: d.block,
                elem: d.elem,
            })),
            Value::Tuple(tuple) => {
                let mut items = Vec::with_capacity(tuple.items.len());
                for item in tuple.items.iter() {
                    items.push(item.rebuild(values));
                }
                Value::Tuple(Tuple {
                    items: items.into(),
                    class: tuple.class.clone(),
                })
            }
            Value::Instance(instance) => {
                let mut fields = Vec::with_capacity(instance.fields.len());
                for (name, field) in &instance.fields {
                    let field = field.rebuild(values);
                    fields.push((name.clone(), field));
                }
                Value::Instance(Rc::new(Instance {
                    class: instance.class.clone(),
                    fields,
                }))
            }
            other => other.clone(),
        }
    }
}
