//! The module `triton`: its few functions that kernels call, and the names of its host side.
//!
//! Decorators and classes of the host are recognised by their names where files are read; their rows say that the
//! names exist and refuse to be called in a kernel. Private functions of `triton.language` that kernels use are
//! here too.

use num_bigint::BigInt;
use num_traits::Signed;

use super::operate::operate;
use super::types::get_int_dtype;
use super::{Bound, builtins, raw_builtins};
use crate::ast::BinaryOp;
use crate::cx::{Cx, Result};
use crate::konst::{self, functions};
use crate::value::Value;

builtins! { TABLE in "triton";
    Function "cdiv" "x, y" => cdiv, "The quotient of two integers rounded up.";
    Function "next_power_of_2" "n" => next_power_of_2, "The smallest power of two not below.";
}

raw_builtins! { HOST in "triton", Host, host_only;
    "jit" "fn=None", "The decorator of kernels and of the functions that they call.";
    "autotune" "configs, key", "The decorator that tries configurations.";
    "heuristics" "values", "The decorator that computes arguments from others.";
    "Config" "kwargs", "A configuration of `autotune`.";
    "constexpr_function" "fn", "The decorator of functions that run at compile time.";
    "reinterpret" "tensor, dtype", "A tensor of the host with another type.";
    "JITFunction" "fn", "The class of kernels.";
    "KernelInterface" "", "The class of what can be launched.";
    "TensorWrapper" "base, dtype", "A tensor of the host with another type.";
    "MockTensor" "dtype", "A tensor of the host without data.";
    "InterpreterError" "orig_error_message", "An error of Triton's interpreter.";
    "OutOfResources" "required, limit, name", "An error of a launch.";
    "TritonError" "", "An error of Triton.";
    "compile" "src", "Compiles a kernel.";
    "set_allocator" "allocator", "Sets what allocates memory for descriptors.";
    "must_use_result" "x", "The decorator of functions whose results are to be used.";
}

raw_builtins! { DECORATORS in "triton.language.core", Host, host_only;
    "builtin" "fn", "The decorator of Triton's own functions.";
    "extern" "fn", "The decorator of functions of device libraries.";
    "_aggregate" "cls", "The decorator of classes whose instances kernels use.";
    "_tensor_member_fn" "fn", "The decorator of functions that are methods of tensors.";
    "must_use_result" "x", "The decorator of functions whose results are to be used.";
    "constexpr_function" "fn", "The decorator of functions that run at compile time.";
    "base_type" "", "The class of all types.";
    "TRITON_BUILTIN" "", "The mark of Triton's own functions.";
    "is_builtin" "fn", "Whether a function is Triton's own.";
}

builtins! { PRIVATE in "triton.language.core";
    Function "_unwrap_if_constexpr" "o" => itself, "The value of a compile-time constant: itself.";
    Function "_constexpr_to_value" "v" => itself, "The value of a compile-time constant: itself.";
    Function "_unwrap_shape" "shape" => itself, "A shape as it is.";
    Function "_normalize_tuple" "t" => itself, "A tuple as it is.";
    Function "_wrap_axis" "axis, ndim" => wrap_axis, "An axis counted from the front.";
}

builtins! { STANDARD in "triton.language.standard";
    Function "_log2" "i" => log2, "The logarithm to base two, rounded down.";
    Function "_is_power_of_two" "i" => is_power_of_two, "Whether an integer is a power of two.";
    Function "_get_int_dtype" "bitwidth, signed" => get_int_dtype, "The integer type of this width and sign.";
}

fn integer(cx: &Cx<'_>, what: &str, value: &Value) -> Result<BigInt> {
    konst::as_int(value).ok_or_else(|| {
        cx.error(format!(
            "`{what}` takes compile-time integers, not {}",
            value.describe()
        ))
    })
}

fn cdiv(cx: &mut Cx<'_>, x: Value, y: Value) -> Result<Value> {
    if x.is_runtime() || y.is_runtime() {
        let less = operate(cx, BinaryOp::Sub, &y, &Value::int(1))?;
        let sum = operate(cx, BinaryOp::Add, &x, &less)?;
        return operate(cx, BinaryOp::FloorDiv, &sum, &y);
    }
    functions::cdiv(&x, &y).map_err(|why| cx.error(why))
}

fn next_power_of_2(cx: &mut Cx<'_>, n: Value) -> Result<Value> {
    functions::next_power_of_2(&n).map_err(|why| cx.error(why))
}

fn host_only(cx: &mut Cx<'_>, args: &Bound) -> Result<Value> {
    let message = format!(
        "`{}` belongs to the host side and is not called in kernels",
        args.builtin.path()
    );
    Err(cx.error(message))
}

fn itself(_: &mut Cx<'_>, value: Value) -> Result<Value> {
    Ok(value)
}

fn wrap_axis(cx: &mut Cx<'_>, axis: Value, rank: i64) -> Result<Value> {
    let axis = cx.axis_of(&axis, usize::try_from(rank).unwrap_or(0))?;
    Ok(Value::int(axis))
}

fn log2(cx: &mut Cx<'_>, i: Value) -> Result<Value> {
    let i = integer(cx, "_log2", &i)?;
    Ok(Value::int(if i.is_positive() { i.bits() - 1 } else { 0 }))
}

fn is_power_of_two(cx: &mut Cx<'_>, i: Value) -> Result<Value> {
    let i = integer(cx, "_is_power_of_two", &i)?;
    Ok(Value::Bool(
        i.is_positive() && i.trailing_zeros() == Some(i.bits() - 1),
    ))
}
