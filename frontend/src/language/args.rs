//! What the Rust functions behind the tables take: one typed argument per parameter.
//!
//! [`FromArg`] says what a type accepts and how its errors read; a function whose arguments are all [`FromArg`]
//! is a [`Lowering`], and the tables need nothing more of it.

use std::rc::Rc;

use num_traits::ToPrimitive;
use tilescope_diagnostics::Error;

use super::{Bound, Builtin};
use crate::ast::Span;
use crate::cx::{Cx, Result};
use crate::konst;
use crate::types::{Dtype, Ty};
use crate::value::{Descriptor, Tensor, Value};

/// An argument with what an error about it needs.
#[derive(Debug, Clone, Copy)]
pub struct Arg<'a> {
    /// What is called.
    pub function: &'static Builtin,
    /// The parameter's name.
    pub param: &'a str,
    /// The argument.
    pub value: &'a Value,
    /// Where it stands; none for a default, or for `self` of a method.
    pub span: Option<Span>,
}

impl Arg<'_> {
    /// The error of an argument that is not what the parameter takes: `expected` reads `a string`.
    pub fn mismatch(&self, cx: &Cx<'_>, expected: &str) -> Box<Error> {
        if let Value::Opaque(why) = self.value {
            return cx.opaque(why);
        }
        let given = self.value.describe();
        let message = format!(
            "argument `{}` of `{}` must be {expected}",
            self.param,
            self.function.path()
        );
        let span = self.span.unwrap_or(cx.place.span);
        let error = cx.error_at(span, message, &format!("this is {given}"));
        if self.value.is_runtime() && expected.contains("compile-time") {
            error.help("make it a `tl.constexpr` parameter, or compute it from compile-time constants only")
        } else {
            error
        }
    }

    /// The same argument with another value: an element of a tuple.
    pub fn with<'b>(&'b self, value: &'b Value) -> Arg<'b> {
        Arg { value, ..*self }
    }
}

/// What an argument can be converted to.
pub trait FromArg: Sized {
    /// Converts an argument.
    ///
    /// # Errors
    /// An argument that is something else.
    fn from_arg(cx: &mut Cx<'_>, arg: Arg<'_>) -> Result<Self>;
}

/// A run-time number: a tensor as it is, a constant as Triton's `to_tensor` makes one of it.
#[derive(Debug, Clone)]
pub struct Operand(pub Tensor);

/// A list of compile-time integers, or one alone.
#[derive(Debug, Clone)]
pub struct Ints(pub Vec<i64>);

/// What can be called.
#[derive(Debug, Clone)]
pub struct Callable(pub Value);

/// One tensor, or a tuple of tensors.
#[derive(Debug, Clone)]
pub struct Tensors {
    /// The tensors.
    pub items: Vec<Tensor>,
    /// It was a tuple: so is the result.
    pub is_tuple: bool,
}

impl FromArg for Value {
    fn from_arg(_: &mut Cx<'_>, arg: Arg<'_>) -> Result<Self> {
        Ok(arg.value.clone())
    }
}

impl<T: FromArg> FromArg for Option<T> {
    fn from_arg(cx: &mut Cx<'_>, arg: Arg<'_>) -> Result<Self> {
        match arg.value {
            Value::None => Ok(None),
            _ => T::from_arg(cx, arg).map(Some),
        }
    }
}

impl FromArg for Tensor {
    fn from_arg(cx: &mut Cx<'_>, arg: Arg<'_>) -> Result<Self> {
        match arg.value {
            Value::Tensor(tensor) => Ok(tensor.clone()),
            _ => Err(arg.mismatch(cx, "a tensor")),
        }
    }
}

impl FromArg for Operand {
    fn from_arg(cx: &mut Cx<'_>, arg: Arg<'_>) -> Result<Self> {
        match arg.value {
            Value::Tensor(tensor) => Ok(Operand(tensor.clone())),
            Value::Bool(_) | Value::Int(_) | Value::Float(_) => cx.to_tensor(arg.value).map(Operand),
            _ => Err(arg.mismatch(cx, "a tensor or a number")),
        }
    }
}

impl FromArg for Rc<Descriptor> {
    fn from_arg(cx: &mut Cx<'_>, arg: Arg<'_>) -> Result<Self> {
        match arg.value {
            Value::Descriptor(descriptor) => Ok(descriptor.clone()),
            _ => Err(arg.mismatch(cx, "a tensor descriptor")),
        }
    }
}

impl FromArg for i64 {
    fn from_arg(cx: &mut Cx<'_>, arg: Arg<'_>) -> Result<Self> {
        match konst::as_int(arg.value) {
            Some(int) => int
                .to_i64()
                .ok_or_else(|| arg.mismatch(cx, "an integer of 64 bits")),
            None => Err(arg.mismatch(cx, "a compile-time integer")),
        }
    }
}

impl FromArg for bool {
    fn from_arg(cx: &mut Cx<'_>, arg: Arg<'_>) -> Result<Self> {
        konst::truth(arg.value).map_err(|_| arg.mismatch(cx, "a compile-time truth value"))
    }
}

impl FromArg for Rc<str> {
    fn from_arg(cx: &mut Cx<'_>, arg: Arg<'_>) -> Result<Self> {
        match arg.value {
            Value::Str(text) => Ok(text.clone()),
            _ => Err(arg.mismatch(cx, "a compile-time string")),
        }
    }
}

impl FromArg for Ty {
    fn from_arg(cx: &mut Cx<'_>, arg: Arg<'_>) -> Result<Self> {
        match arg.value {
            Value::Type(ty) => Ok(ty.clone()),
            _ => Err(arg.mismatch(cx, "a type such as `tl.float32`")),
        }
    }
}

impl FromArg for Dtype {
    fn from_arg(cx: &mut Cx<'_>, arg: Arg<'_>) -> Result<Self> {
        match arg.value {
            Value::Type(Ty::Scalar(crate::types::Elem::Num(dtype))) => Ok(*dtype),
            _ => Err(arg.mismatch(cx, "a number type such as `tl.float32`")),
        }
    }
}

impl FromArg for Vec<Value> {
    fn from_arg(cx: &mut Cx<'_>, arg: Arg<'_>) -> Result<Self> {
        match arg.value {
            Value::Tuple(tuple) => Ok(tuple.items.to_vec()),
            Value::List(list) => Ok(list.borrow().clone()),
            _ => Err(arg.mismatch(cx, "a tuple or list")),
        }
    }
}

impl FromArg for Ints {
    fn from_arg(cx: &mut Cx<'_>, arg: Arg<'_>) -> Result<Self> {
        let items = match arg.value {
            Value::Tuple(_) | Value::List(_) => Vec::from_arg(cx, arg)?,
            single => vec![single.clone()],
        };
        // `f(x, (2, 4))` and `f(x, 2, 4)` are the same for functions that take `*shape`.
        let items = match items.as_slice() {
            [inner @ (Value::Tuple(_) | Value::List(_))] => Vec::from_arg(cx, arg.with(inner))?,
            _ => items,
        };
        let ints: Result<Vec<i64>> = items
            .iter()
            .map(|item| i64::from_arg(cx, arg.with(item)))
            .collect();
        ints.map(Ints)
    }
}

impl FromArg for Tensors {
    fn from_arg(cx: &mut Cx<'_>, arg: Arg<'_>) -> Result<Self> {
        match arg.value {
            Value::Tuple(_) => {
                let mut items = Vec::new();
                for item in Vec::from_arg(cx, arg)? {
                    items.push(Tensor::from_arg(cx, arg.with(&item))?);
                }
                if items.is_empty() {
                    return Err(arg.mismatch(cx, "a tensor or a tuple of tensors"));
                }
                Ok(Tensors {
                    items,
                    is_tuple: true,
                })
            }
            _ => Ok(Tensors {
                items: vec![Tensor::from_arg(cx, arg)?],
                is_tuple: false,
            }),
        }
    }
}

impl FromArg for Callable {
    fn from_arg(cx: &mut Cx<'_>, arg: Arg<'_>) -> Result<Self> {
        match arg.value {
            // Triton takes functions with `@triton.jit` alone: Python's own are none.
            Value::Builtin(builtin) if builtin.module == "builtins" => {
                let error = arg.mismatch(cx, "a function with `@triton.jit`");
                Err(error.help("write one: `@triton.jit` above `def combine(a, b): return …`"))
            }
            Value::Function(_) | Value::Method(_) | Value::Lambda(_) | Value::Builtin(_) => {
                Ok(Callable(arg.value.clone()))
            }
            _ => Err(arg.mismatch(cx, "a function")),
        }
    }
}

/// A Rust function that takes arguments of the types `P`.
pub trait Lowering<P> {
    /// How many.
    const ARITY: usize;

    /// Converts the arguments and calls it.
    ///
    /// # Errors
    /// Arguments that do not fit, and its own.
    fn call(&self, cx: &mut Cx<'_>, args: &Bound) -> Result<Value>;
}

macro_rules! lowering {
    ($($arity:literal: $($ty:ident $index:literal),*;)*) => {$(
        impl<Func, Out, $($ty: FromArg),*> Lowering<($($ty,)*)> for Func
        where
            Func: Fn(&mut Cx<'_>, $($ty),*) -> Result<Out>,
            Out: Into<Value>,
        {
            const ARITY: usize = $arity;

            fn call(&self, cx: &mut Cx<'_>, _args: &Bound) -> Result<Value> {
                $(
                    #[allow(non_snake_case, reason = "named as its type")]
                    let $ty = $ty::from_arg(cx, _args.arg($index))?;
                )*
                self(cx, $($ty),*).map(Into::into)
            }
        }
    )*};
}

lowering! {
    0: ;
    1: A 0;
    2: A 0, B 1;
    3: A 0, B 1, C 2;
    4: A 0, B 1, C 2, D 3;
    5: A 0, B 1, C 2, D 3, E 4;
    6: A 0, B 1, C 2, D 3, E 4, F 5;
    7: A 0, B 1, C 2, D 3, E 4, F 5, G 6;
    8: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7;
    9: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8;
    10: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9;
    11: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10;
}

/// How many arguments a function takes beside the context.
pub const fn arity<P, F: Lowering<P>>(_: &F) -> usize {
    F::ARITY
}

/// How many parameters a row has: a bare `*` is none.
pub const fn parameters(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut count, mut named, mut i) = (0, false, 0);
    while i <= bytes.len() {
        if i == bytes.len() || bytes[i] == b',' {
            if named {
                count += 1;
            }
            named = false;
        } else if bytes[i] != b'*' && bytes[i] != b' ' {
            named = true;
        }
        i += 1;
    }
    count
}

impl From<Vec<Tensor>> for Value {
    fn from(tensors: Vec<Tensor>) -> Value {
        Value::tuple(tensors.into_iter().map(Value::Tensor).collect())
    }
}

impl From<(Tensor, Tensor)> for Value {
    fn from((a, b): (Tensor, Tensor)) -> Value {
        Value::tuple(vec![a.into(), b.into()])
    }
}

impl From<()> for Value {
    fn from((): ()) -> Value {
        Value::None
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}
