//! Types as values: the classes `tl.dtype`, `tl.pointer_type`, `tl.block_type`, …, and what types are asked.

use std::rc::Rc;

use num_bigint::BigInt;
use tilescope_ir::Shape;

use super::args::Ints;
use super::{Bound, builtins, raw_builtins};
use crate::cx::{Cx, Result};
use crate::types::{Dtype, Elem, PtrTy, Ty};
use crate::value::Value;

builtins! { CLASSES in "triton.language";
    Class "dtype" "name" => dtype, "The number type with this name: `tl.dtype(\"fp32\")`.";
    Class "pointer_type" "element_ty, address_space=\"global\", const=False" => pointer_type,
        "The type of pointers to a type.";
    Class "block_type" "element_ty, shape" => block_type, "The type of blocks of this shape.";
    Class "tuple" "args, type=None" => tuple, "A tuple of the elements of another one.";
}

raw_builtins! { ABSTRACT in "triton.language", Class, not_called;
    "tensor" "", "The class of run-time values, as an annotation and for `isinstance`.";
    "const" "", "As an annotation: a pointer that is not stored through.";
    "constexpr_type" "", "The class of the types of compile-time values.";
    "tuple_type" "", "The class of the types of tuples.";
    "tensor_descriptor" "", "The class of tensor descriptors, as an annotation and for `isinstance`.";
    "tensor_descriptor_base" "", "The class of tensor descriptors.";
    "tensor_descriptor_type" "", "The class of the types of tensor descriptors.";
    "base_value" "", "The class of all values of a kernel.";
    "slice" "", "The class of slices.";
    "PropagateNan" "", "What `minimum`, `maximum` and `clamp` do with NaN: `NONE` or `ALL`.";
}

raw_builtins! { PROPAGATE_NAN in "triton.language.PropagateNan", Member, not_called;
    "NONE" "", "A number wins over NaN.";
    "ALL" "", "NaN wins.";
}

raw_builtins! { ENUMS in "triton.language.dtype", Class, not_called;
    "SIGNEDNESS" "", "Whether an integer type is signed: `SIGNED` or `UNSIGNED`.";
    "KIND" "", "What kind of number a type is: `BOOLEAN`, `INTEGRAL` or `FLOATING`.";
}

raw_builtins! { SIGNEDNESS in "triton.language.dtype.SIGNEDNESS", Member, not_called;
    "SIGNED" "", "Signed.";
    "UNSIGNED" "", "Unsigned; `int1` too.";
}

raw_builtins! { KINDS in "triton.language.dtype.KIND", Member, not_called;
    "BOOLEAN" "", "`int1`.";
    "INTEGRAL" "", "The other integers.";
    "FLOATING" "", "Floats.";
}

raw_builtins! { QUERIES in "triton.language.dtype", TypeMethod, query;
    "is_fp8" "self", "Whether it is one of the 8-bit floats, or made of one.";
    "is_fp8e4nv" "self", "Whether it is `tl.float8e4nv`.";
    "is_fp8e4b8" "self", "Whether it is `tl.float8e4b8`.";
    "is_fp8e4b15" "self", "Whether it is `tl.float8e4b15`.";
    "is_fp8e5" "self", "Whether it is `tl.float8e5`.";
    "is_fp8e5b16" "self", "Whether it is `tl.float8e5b16`.";
    "is_fp16" "self", "Whether it is `tl.float16`.";
    "is_bf16" "self", "Whether it is `tl.bfloat16`.";
    "is_fp32" "self", "Whether it is `tl.float32`.";
    "is_fp64" "self", "Whether it is `tl.float64`.";
    "is_int1" "self", "Whether it is `tl.int1`.";
    "is_int8" "self", "Whether it is `tl.int8`.";
    "is_int16" "self", "Whether it is `tl.int16`.";
    "is_int32" "self", "Whether it is `tl.int32`.";
    "is_int64" "self", "Whether it is `tl.int64`.";
    "is_uint8" "self", "Whether it is `tl.uint8`.";
    "is_uint16" "self", "Whether it is `tl.uint16`.";
    "is_uint32" "self", "Whether it is `tl.uint32`.";
    "is_uint64" "self", "Whether it is `tl.uint64`.";
    "is_floating" "self", "Whether it is a float.";
    "is_standard_floating" "self", "Whether it is a float of 16, 32 or 64 bits.";
    "is_int" "self", "Whether it is an integer, `tl.int1` too.";
    "is_int_signed" "self", "Whether it is a signed integer.";
    "is_int_unsigned" "self", "Whether it is an unsigned integer; `tl.int1` is one.";
    "is_bool" "self", "Whether it is `tl.int1`.";
    "is_block" "self", "Whether it is the type of blocks.";
    "is_ptr" "self", "Whether it is the type of pointers.";
    "is_const" "self", "Whether it is a pointer that is not stored through.";
}

builtins! { METHODS in "triton.language.dtype";
    TypeMethod "kind" "self" => kind, "What kind of number it is.";
    TypeMethod "get_int_max_value" "self" => int_max, "The largest value of an integer type.";
    TypeMethod "get_int_min_value" "self" => int_min, "The smallest value of an integer type.";
    TypeMethod "with_element_ty" "self, scalar_ty" => with_element_ty, "The same shape with another element.";
    TypeMethod "get_block_shapes" "self" => get_block_shapes, "The shape of a block.";
    TypeMethod "codegen_name" "self" => codegen_name, "Its name in `triton.language`: `float32`.";
}

builtins! { FUNCTIONS in "triton.language.core";
    Function "get_int_dtype" "bitwidth, signed" => get_int_dtype, "The integer type of this width and sign.";
}

/// The name of a type in `triton.language`: `float32`.
pub(super) fn python_name(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::Fp8e4nv => "float8e4nv",
        Dtype::Fp8e5 => "float8e5",
        Dtype::Fp8e4b15 => "float8e4b15",
        Dtype::Fp8e4b8 => "float8e4b8",
        Dtype::Fp8e5b16 => "float8e5b16",
        Dtype::Fp16 => "float16",
        Dtype::Bf16 => "bfloat16",
        Dtype::Fp32 => "float32",
        Dtype::Fp64 => "float64",
        integer => integer.name(),
    }
}

/// Names of [`attribute`] that are no methods.
pub(super) const ATTRIBUTES: &[&str] = &[
    "name",
    "scalar",
    "element_ty",
    "primitive_bitwidth",
    "itemsize",
    "int_bitwidth",
    "int_signedness",
    "fp_mantissa_width",
    "exponent_bias",
    "shape",
    "numel",
    "nbytes",
    "address_space",
    "const",
    "types",
    "block_type",
];

/// What `ty.name` is, methods aside.
pub(super) fn attribute(ty: &Ty, name: &str) -> Option<Value> {
    let number = match ty {
        Ty::Scalar(Elem::Num(dtype)) => Some(*dtype),
        _ => None,
    };
    Some(match (name, ty) {
        ("name", ty) => Value::str(&ty.to_string()),
        ("scalar", Ty::Block(_, elem)) => Value::Type(Ty::Scalar(*elem)),
        ("scalar", Ty::Scalar(_) | Ty::BlockPtr(..)) => Value::Type(ty.clone()),
        ("element_ty", ty) => Value::Type(element(ty)?),
        ("address_space", Ty::Scalar(Elem::Ptr(_)) | Ty::BlockPtr(..)) => Value::str("global"),
        ("const", Ty::Scalar(Elem::Ptr(ptr))) => Value::Bool(ptr.is_const),
        ("shape", Ty::Block(shape, _)) => dims(shape),
        ("numel", Ty::Block(shape, _)) => Value::int(shape.elements()),
        ("nbytes", Ty::Block(shape, Elem::Num(dtype))) => {
            Value::int(shape.elements() as u64 * u64::from(dtype.bits() / 8))
        }
        ("types", Ty::Tuple(items)) => Value::tuple(items.iter().cloned().map(Value::Type).collect()),
        ("block_type", Ty::Descriptor(shape, dtype)) => Value::Type(Ty::Block(*shape, Elem::Num(*dtype))),
        ("primitive_bitwidth", _) => Value::int(number?.bits()),
        ("itemsize", _) => Value::int(number?.bits() / 8),
        ("int_bitwidth", _) => Value::int(number.filter(|d| d.is_int())?.bits()),
        ("int_signedness", _) => {
            let signed = is_signed(number.filter(|d| d.is_int())?);
            let name = if signed { "SIGNED" } else { "UNSIGNED" };
            super::attribute("triton.language.dtype.SIGNEDNESS", name)?
        }
        ("fp_mantissa_width", _) => Value::int(mantissa(number?)?.0),
        ("exponent_bias", _) => Value::int(mantissa(number?)?.1),
        _ => return None,
    })
}

/// What a pointer points to, what a block is made of.
fn element(ty: &Ty) -> Option<Ty> {
    match ty {
        Ty::Block(_, elem) => Some(Ty::Scalar(*elem)),
        Ty::BlockPtr(shape, elem) => Some(Ty::Block(*shape, *elem)),
        Ty::Scalar(Elem::Ptr(ptr)) if ptr.levels > 1 => Some(Ty::Scalar(Elem::Ptr(PtrTy {
            levels: ptr.levels - 1,
            ..*ptr
        }))),
        Ty::Scalar(Elem::Ptr(ptr)) => Some(Ty::num(ptr.to)),
        _ => None,
    }
}

/// A shape as kernels see it.
pub(super) fn dims(shape: &Shape) -> Value {
    Value::tuple(shape.dims().map(Value::int).collect())
}

/// Whether Triton calls an integer type signed: `int1` it does not.
pub(super) fn is_signed(dtype: Dtype) -> bool {
    dtype.is_signed() && dtype != Dtype::Int1
}

/// Width of the mantissa and bias of the exponent.
fn mantissa(dtype: Dtype) -> Option<(u32, u32)> {
    Some(match dtype {
        Dtype::Fp8e4b15 => (3, 15),
        Dtype::Fp8e4nv => (3, 7),
        Dtype::Fp8e4b8 => (3, 8),
        Dtype::Fp8e5 => (2, 15),
        Dtype::Fp8e5b16 => (2, 16),
        Dtype::Fp16 => (10, 15),
        Dtype::Bf16 => (7, 127),
        Dtype::Fp32 => (23, 127),
        Dtype::Fp64 => (52, 1023),
        _ => return None,
    })
}

fn not_called(cx: &mut Cx<'_>, args: &Bound) -> Result<Value> {
    Err(cx.error(format!("`{}` is not called in kernels", args.builtin.path())))
}

/// `is_…`: the answers are Triton's, which looks at a type's name; a block of floats is not floating.
fn query(cx: &mut Cx<'_>, args: &Bound) -> Result<Value> {
    let arg = args.arg(0);
    let Value::Type(ty) = arg.value else {
        return Err(arg.mismatch(cx, "a type"));
    };
    let number = match ty {
        Ty::Scalar(Elem::Num(dtype)) => Some(*dtype),
        _ => None,
    };
    let holds = |test: fn(Dtype) -> bool| number.is_some_and(test);
    let answer = match args.builtin.name {
        "is_fp8" => ty.elem().is_some_and(|elem| elem.to_string().contains("fp8")),
        "is_floating" => holds(Dtype::is_float),
        "is_standard_floating" => holds(|d| d.is_float() && d.bits() >= 16),
        "is_int" => holds(Dtype::is_int),
        "is_int_signed" => holds(is_signed),
        "is_int_unsigned" => holds(|d| d.is_int() && !is_signed(d)),
        "is_bool" => number == Some(Dtype::Int1),
        "is_block" => matches!(ty, Ty::Block(..)),
        "is_ptr" => matches!(ty, Ty::Scalar(Elem::Ptr(_)) | Ty::BlockPtr(..)),
        "is_const" => matches!(ty, Ty::Scalar(Elem::Ptr(ptr)) if ptr.is_const),
        name => number.is_some_and(|d| name.strip_prefix("is_") == Some(d.name())),
    };
    Ok(Value::Bool(answer))
}

fn dtype(cx: &mut Cx<'_>, name: Rc<str>) -> Result<Value> {
    if &*name == "void" {
        return Ok(Value::Type(Ty::Void));
    }
    match Dtype::ALL.into_iter().find(|d| d.name() == &*name) {
        Some(dtype) => Ok(Value::Type(Ty::num(dtype))),
        None => {
            let names = Dtype::ALL.map(Dtype::name);
            let error = cx.error(format!("there is no number type '{name}'"));
            Err(match tilescope_diagnostics::closest(&name, names) {
                Some(near) => error.help(format!("did you mean '{near}'?")),
                None => error.help(format!("the types are {}", names.join(", "))),
            })
        }
    }
}

fn pointer_type(cx: &mut Cx<'_>, to: Ty, _space: Value, is_const: bool) -> Result<Value> {
    let elem = match to {
        Ty::Scalar(Elem::Num(to)) => Elem::Ptr(PtrTy {
            to,
            levels: 1,
            is_const,
        }),
        Ty::Scalar(Elem::Ptr(ptr)) if ptr.levels < u8::MAX => Elem::Ptr(PtrTy {
            levels: ptr.levels + 1,
            ..ptr
        }),
        Ty::Block(shape, elem) => return Ok(Value::Type(Ty::BlockPtr(shape, elem))),
        other => return Err(cx.error(format!("there are no pointers to `{other}`"))),
    };
    Ok(Value::Type(Ty::Scalar(elem)))
}

fn block_type(cx: &mut Cx<'_>, element: Ty, shape: Ints) -> Result<Value> {
    let Ty::Scalar(elem) = element else {
        return Err(cx.error(format!("there are no blocks of `{element}`")));
    };
    let dims: Option<Vec<u64>> = shape.0.iter().map(|&d| u64::try_from(d).ok()).collect();
    match dims.and_then(|dims| Shape::new(&dims)) {
        Some(shape) => Ok(Value::Type(Ty::Block(shape, elem))),
        None => Err(cx.error(format!(
            "the dimensions {:?} of a block must be powers of two",
            shape.0
        ))),
    }
}

fn tuple(_: &mut Cx<'_>, items: Vec<Value>, _type: Value) -> Result<Value> {
    Ok(Value::tuple(items))
}

fn number(cx: &Cx<'_>, ty: &Ty) -> Result<Dtype> {
    match ty {
        Ty::Scalar(Elem::Num(dtype)) => Ok(*dtype),
        _ => Err(cx.error(format!("`{ty}` is not a number type"))),
    }
}

fn kind(cx: &mut Cx<'_>, ty: Ty) -> Result<Value> {
    let name = match number(cx, &ty)? {
        Dtype::Int1 => "BOOLEAN",
        dtype if dtype.is_int() => "INTEGRAL",
        _ => "FLOATING",
    };
    Ok(super::attribute("triton.language.dtype.KIND", name).unwrap_or(Value::None))
}

fn int_bounds(cx: &Cx<'_>, ty: &Ty) -> Result<(BigInt, BigInt)> {
    let dtype = number(cx, ty)?;
    if dtype.is_float() {
        return Err(cx.error(format!("`{ty}` is not an integer type")));
    }
    let one = BigInt::from(1);
    Ok(if is_signed(dtype) {
        let half = one << (dtype.bits() - 1);
        (-half.clone(), half - 1)
    } else {
        (BigInt::from(0), (one << dtype.bits()) - 1)
    })
}

fn int_max(cx: &mut Cx<'_>, ty: Ty) -> Result<Value> {
    Ok(Value::Int(int_bounds(cx, &ty)?.1))
}

fn int_min(cx: &mut Cx<'_>, ty: Ty) -> Result<Value> {
    Ok(Value::Int(int_bounds(cx, &ty)?.0))
}

fn with_element_ty(cx: &mut Cx<'_>, ty: Ty, element: Ty) -> Result<Value> {
    match element {
        Ty::Scalar(elem) => Ok(Value::Type(ty.with_elem(elem))),
        other => Err(cx.error(format!("`{other}` is not an element type"))),
    }
}

fn get_block_shapes(cx: &mut Cx<'_>, ty: Ty) -> Result<Value> {
    match &ty {
        Ty::Block(shape, _) => Ok(dims(shape)),
        _ => Err(cx.error(format!("`{ty}` is not the type of a block"))),
    }
}

fn codegen_name(cx: &mut Cx<'_>, ty: Ty) -> Result<Value> {
    Ok(Value::str(python_name(number(cx, &ty)?)))
}

pub(super) fn get_int_dtype(cx: &mut Cx<'_>, bits: i64, signed: bool) -> Result<Value> {
    int_dtype(bits, signed)
        .map(|dtype| Value::Type(Ty::num(dtype)))
        .ok_or_else(|| cx.error(format!("there is no integer type of {bits} bits")))
}

/// The integer type of this width and sign.
pub(super) fn int_dtype(bits: i64, signed: bool) -> Option<Dtype> {
    Some(match (bits, signed) {
        (1, _) => Dtype::Int1,
        (8, true) => Dtype::Int8,
        (8, false) => Dtype::Uint8,
        (16, true) => Dtype::Int16,
        (16, false) => Dtype::Uint16,
        (32, true) => Dtype::Int32,
        (32, false) => Dtype::Uint32,
        (64, true) => Dtype::Int64,
        (64, false) => Dtype::Uint64,
        _ => return None,
    })
}
