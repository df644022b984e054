//! What host code uses of Python's and other libraries: `math`, `torch`'s types, `os.environ`, `itertools`, and the
//! host side of `triton`.
//!
//! Answers that depend on the machine are those of the card that is compiled for, with an empty environment and
//! the newest versions known: `triton` 3.9.0, `torch` 2.9.0, Python 3.12 on Linux, one CUDA device. What is not
//! here is [`Value::Opaque`].

use std::rc::Rc;

use super::{Bound, Builtin, python, raw_builtins};
use crate::ast::Name;
use crate::cx::{Cx, Result};
use crate::konst::{self, index, math};
use crate::source::{Found, UNKNOWN_NAME};
use crate::types::{Dtype, Ty};
use crate::value::{Class, ClassKind, Function, FunctionKind, Instance, Module, Value};

raw_builtins! { MATH in "math", Function, number;
    "sqrt" "x", "The square root.";
    "cbrt" "x", "The cube root.";
    "exp" "x", "e to the power of x.";
    "exp2" "x", "2 to the power of x.";
    "expm1" "x", "e to the power of x, less 1.";
    "log" "x, *base", "The logarithm, natural or to a base.";
    "log2" "x", "The logarithm to base 2.";
    "log10" "x", "The logarithm to base 10.";
    "log1p" "x", "The logarithm of 1 + x.";
    "pow" "x, y", "x to the power of y, as floats.";
    "sin" "x", "The sine.";
    "cos" "x", "The cosine.";
    "tan" "x", "The tangent.";
    "asin" "x", "The arc sine.";
    "acos" "x", "The arc cosine.";
    "atan" "x", "The arc tangent.";
    "atan2" "y, x", "The angle of a point.";
    "sinh" "x", "The hyperbolic sine.";
    "cosh" "x", "The hyperbolic cosine.";
    "tanh" "x", "The hyperbolic tangent.";
    "asinh" "x", "The inverse of `sinh`.";
    "acosh" "x", "The inverse of `cosh`.";
    "atanh" "x", "The inverse of `tanh`.";
    "fabs" "x", "The absolute value as a float.";
    "copysign" "x, y", "x with the sign of y.";
    "fmod" "x, y", "The remainder with the sign of x.";
    "hypot" "*coordinates", "The length of a vector.";
    "ldexp" "x, i", "x times 2 to the power of i.";
    "degrees" "x", "An angle in degrees.";
    "radians" "x", "An angle in radians.";
    "isnan" "x", "Whether it is a NaN.";
    "isinf" "x", "Whether it is infinite.";
    "isfinite" "x", "Whether it is neither NaN nor infinite.";
    "isclose" "a, b", "Whether two numbers are near each other.";
    "floor" "x", "The integer at or below.";
    "ceil" "x", "The integer at or above.";
    "trunc" "x", "The integer towards 0.";
    "gcd" "*integers", "The greatest common divisor.";
    "lcm" "*integers", "The least common multiple.";
    "isqrt" "n", "The square root rounded down.";
    "factorial" "n", "The factorial.";
    "comb" "n, k", "The number of ways to choose k of n.";
    "prod" "iterable", "The product of the items.";
}

raw_builtins! { HOST in "host", Host, host;
    "triton.Config" "kwargs=None, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, ir_override=None, **options", "A configuration of `autotune`.";
    "triton.jit" "fn=None, **options", "The decorator of kernels and of the functions that they call.";
    "triton.constexpr_function" "fn", "The decorator of functions that run at compile time.";
    "triton.autotune" "*args, **options", "The decorator that tries configurations.";
    "triton.heuristics" "*args, **options", "The decorator that computes arguments from others.";
    "wrapper" "fn=None, *args, **options", "A decorator that only wraps.";
    "triton.runtime.driver.active.get_current_target" "", "The card that is compiled for.";
    "triton.runtime.driver.active.get_current_device" "", "The first device.";
    "torch.cuda.is_available" "", "Whether there is a CUDA device.";
    "torch.cuda.current_device" "", "The first device.";
    "torch.cuda.device_count" "", "One.";
    "torch.cuda.get_device_capability" "device=None", "The compute capability compiled for.";
    "torch.finfo" "dtype", "The limits of a floating-point type.";
    "torch.iinfo" "dtype", "The limits of an integer type.";
    "os.getenv" "key, default=None", "Its default: the environment is taken as empty.";
    "itertools.product" "*iterables, repeat=1", "All combinations of items.";
    "itertools.chain" "*iterables", "Items one after the other.";
    "collections.namedtuple" "typename, field_names, defaults=(), **options", "A class of tuples with names.";
    "packaging.version.parse" "version", "A version, to be compared.";
    "importlib.util.find_spec" "name, package=None", "The module, if there is one with this name.";
    "importlib.import_module" "name, package=None", "The module with this name.";
    "importlib.util.module_from_spec" "spec", "The module.";
    "unavailable" "*args, **options", "False.";
}

raw_builtins! { TORCH in "torch", Class, host;
    "Tensor" "data=None", "The class of tensors of the host.";
}

/// What `module.name` is in a library of the host; none for names that are known not to be there, and for
/// modules that are not the host's.
pub(super) fn attribute(module: &str, name: &str) -> Option<Value> {
    // Most names of kernels are these.
    if module.starts_with("triton.language") && name != "loader" {
        return None;
    }
    let host = |dotted: &str| HOST.iter().find(|row| row.name == dotted).map(Value::Builtin);
    let submodule = || Some(Value::Module(Module::Known(format!("{module}.{name}").into())));
    let dotted = format!("{module}.{name}");
    if let Some(row) = host(&dotted) {
        return Some(row);
    }
    match (module, name) {
        // What `importlib` finds is the module itself here.
        (_, "loader") => return Some(Value::Opaque("it is a module's loader".into())),
        ("builtins", _) => return python::find(name).map(Value::Builtin),
        ("triton", "__version__") => return Some(Value::str("3.9.0")),
        ("triton", "runtime") | ("triton.runtime", "driver") | ("triton.runtime.driver", "active") => {
            return submodule();
        }
        ("triton.runtime.jit", "jit" | "constexpr_function")
        | ("triton.runtime", "jit" | "autotune" | "heuristics" | "Config")
        | ("triton.runtime.autotuner", "autotune" | "heuristics" | "Config") => {
            return attribute("triton", name);
        }
        _ => {}
    }
    let unknown = || Some(Value::Opaque(format!("`{dotted}{UNKNOWN_NAME}").into()));
    match module.split('.').next()? {
        "triton" => None,
        "math" => MATH
            .iter()
            .find(|row| row.name == name)
            .map(Value::Builtin)
            .or_else(|| math::constant(name)),
        "numpy" => match name {
            "sqrt" | "exp" | "exp2" | "log" | "log2" | "log10" | "floor" | "ceil" | "pi" | "e" | "inf"
            | "nan" => attribute("math", name),
            _ => unknown(),
        },
        "torch" => torch(module, name).or_else(|| match name {
            // What other makers' builds add is not there.
            "npu" | "mlu" | "musa" | "hpu" | "gcu" | "mudnn" => None,
            _ => unknown(),
        }),
        "os" => match (module, name) {
            ("os", "environ") => Some(konst::dict(Vec::new())),
            ("os", "name") => Some(Value::str("posix")),
            _ => unknown(),
        },
        "sys" => match name {
            "version_info" => Some(Value::tuple([3, 12, 0].into_iter().map(Value::int).collect())),
            "platform" => Some(Value::str("linux")),
            "maxsize" => Some(Value::int(i64::MAX)),
            _ => unknown(),
        },
        "platform" if name == "system" => unknown(),
        "importlib" if dotted == "importlib.util" => submodule(),
        "functools" => match name {
            "lru_cache" | "cache" | "wraps" => host("wrapper"),
            _ => unknown(),
        },
        "packaging" => match name {
            "version" if module == "packaging" => submodule(),
            "Version" | "parse" => host("packaging.version.parse"),
            _ => unknown(),
        },
        _ => unknown(),
    }
}

fn torch(module: &str, name: &str) -> Option<Value> {
    let host = |dotted: &str| HOST.iter().find(|row| row.name == dotted).map(Value::Builtin);
    match (module, name) {
        ("torch", "__version__") => Some(Value::str("2.9.0")),
        ("torch", "Tensor") => TORCH.first().map(Value::Builtin),
        ("torch", "cuda" | "version" | "xpu" | "mps" | "backends") => {
            Some(Value::Module(Module::Known(format!("torch.{name}").into())))
        }
        ("torch.version", "cuda") => Some(Value::str("12.8")),
        ("torch.version", "hip" | "xpu" | "rocm") => Some(Value::None),
        ("torch.xpu" | "torch.mps", "is_available") => host("unavailable"),
        ("torch", name) => torch_dtype(name).map(|dtype| Value::Type(Ty::num(dtype))),
        _ => None,
    }
}

/// A number type by the name that `torch` gives it.
pub(crate) fn torch_dtype(name: &str) -> Option<Dtype> {
    Some(match name {
        "bool" => Dtype::Int1,
        "int8" => Dtype::Int8,
        "int16" | "short" => Dtype::Int16,
        "int32" | "int" => Dtype::Int32,
        "int64" | "long" => Dtype::Int64,
        "uint8" => Dtype::Uint8,
        "uint16" => Dtype::Uint16,
        "uint32" => Dtype::Uint32,
        "uint64" => Dtype::Uint64,
        "float8_e4m3fn" => Dtype::Fp8e4nv,
        "float8_e5m2" => Dtype::Fp8e5,
        "float8_e4m3fnuz" => Dtype::Fp8e4b8,
        "float8_e5m2fnuz" => Dtype::Fp8e5b16,
        "float16" | "half" => Dtype::Fp16,
        "bfloat16" => Dtype::Bf16,
        "float32" | "float" => Dtype::Fp32,
        "float64" | "double" => Dtype::Fp64,
        _ => return None,
    })
}

fn number(cx: &mut Cx<'_>, bound: &Bound) -> Result<Value> {
    let mut args = Vec::new();
    for value in &bound.values {
        match value {
            // What `*args` took; no other function takes a tuple.
            Value::Tuple(rest) if bound.builtin.name != "prod" => args.extend(rest.items.iter().cloned()),
            value => args.push(value.clone()),
        }
    }
    if args.iter().any(Value::is_runtime) {
        let name = bound.builtin.name;
        let error = cx
            .error(format!(
                "`{name}` is here a function of Python's libraries, which takes compile-time values"
            ))
            .note("one of its arguments is known only at run time");
        return Err(match super::slips::instead(name) {
            Some(write) => error.help(write),
            None => error.help("functions of run-time values are in `tl.math` and `tl.extra.libdevice`"),
        });
    }
    math::call(bound.builtin.name, &args).map_err(|why| cx.error(why))
}

fn host(cx: &mut Cx<'_>, bound: &Bound) -> Result<Value> {
    let arg = |at: usize| bound.values.get(at).unwrap_or(&Value::None).clone();
    let row: &'static Builtin = bound.builtin;
    match row.name {
        "triton.Config" => Ok(config(bound)),
        "triton.jit" => match arg(0) {
            Value::None => Ok(Value::Builtin(row)),
            function => Ok(with_kind(function, FunctionKind::Jit { noinline: false })),
        },
        "triton.constexpr_function" => Ok(with_kind(arg(0), FunctionKind::Constexpr)),
        // A decorator that is still to be called with the function.
        "triton.autotune" | "triton.heuristics" => Ok(HOST
            .iter()
            .find(|row| row.name == "wrapper")
            .map_or(Value::None, Value::Builtin)),
        "wrapper" => Ok(match arg(0) {
            function @ (Value::Function(_) | Value::Lambda(_) | Value::Class(_) | Value::Opaque(_)) => {
                function
            }
            _ => Value::Builtin(row),
        }),
        "triton.runtime.driver.active.get_current_target" => Ok(instance(
            "GPUTarget",
            vec![
                ("backend", Value::str("cuda")),
                ("arch", Value::int(cx.options.capability)),
                ("warp_size", Value::int(32)),
            ],
        )),
        "triton.runtime.driver.active.get_current_device" | "torch.cuda.current_device" => Ok(Value::int(0)),
        "torch.cuda.is_available" => Ok(Value::Bool(true)),
        "unavailable" => Ok(Value::Bool(false)),
        "torch.cuda.device_count" => Ok(Value::int(1)),
        "torch.cuda.get_device_capability" => {
            let capability = cx.options.capability;
            Ok(Value::tuple(vec![
                Value::int(capability / 10),
                Value::int(capability % 10),
            ]))
        }
        "torch.finfo" | "torch.iinfo" => type_info(cx, row.name == "torch.finfo", &arg(0)),
        "os.getenv" => Ok(arg(1)),
        "itertools.product" => {
            let made = product(&arg(0), &arg(1)).map_err(|why| cx.error(why))?;
            cx.pay(&made)?;
            Ok(made)
        }
        "itertools.chain" => {
            let mut all = Vec::new();
            for items in index::iterate(&arg(0)).map_err(|why| cx.error(why))? {
                all.extend(index::iterate(&items).map_err(|why| cx.error(why))?);
                konst::bounded_len(all.len()).map_err(|why| cx.error(why))?;
            }
            Ok(konst::list(all))
        }
        "collections.namedtuple" => named_tuple(&arg(0), &arg(1), &arg(2)).map_err(|why| cx.error(why)),
        "importlib.util.find_spec" | "importlib.import_module" => find_module(cx, row.name, &arg(0)),
        "importlib.util.module_from_spec" => Ok(arg(0)),
        "packaging.version.parse" => Ok(version(&konst::str(&arg(0)))),
        name => Err(cx.unsupported(format!("`{name}` cannot be called at compile time"))),
    }
}

/// A module by its name in a string.
fn find_module(cx: &mut Cx<'_>, row: &str, name: &Value) -> Result<Value> {
    let Value::Str(name) = name else {
        return Err(cx.error(format!("`{row}` takes a name")));
    };
    let here = cx.place.module;
    match cx.program.find_module(here, name, 0)? {
        // Of Triton's modules, those that are known.
        Found::Library(library) if library.starts_with("triton.") && !super::is_module(&library) => {
            Ok(Value::None)
        }
        Found::Library(library) => Ok(Value::Module(Module::Known(library))),
        Found::File(id) => Ok(Value::Module(Module::File(id))),
        Found::Missing if row.ends_with("find_spec") => Ok(Value::None),
        Found::Missing => Err(cx.error(format!("the module `{name}` is not found"))),
    }
}

fn instance(class: &str, fields: Vec<(&str, Value)>) -> Value {
    let fields: Vec<(Name, Value)> = fields.into_iter().map(|(n, v)| (Name::from(n), v)).collect();
    Value::Instance(Rc::new(Instance {
        class: Rc::new(Class {
            name: class.into(),
            kind: ClassKind::Plain,
            fields: fields.iter().map(|(n, _)| (n.clone(), Value::None)).collect(),
            members: Vec::new(),
        }),
        fields,
    }))
}

fn config(bound: &Bound) -> Value {
    let arg = |at: usize| bound.values.get(at).unwrap_or(&Value::None).clone();
    let kwargs = match arg(0) {
        Value::None => konst::dict(Vec::new()),
        given => given,
    };
    instance(
        "Config",
        vec![
            ("kwargs", kwargs),
            ("num_warps", arg(1)),
            ("num_stages", arg(2)),
            ("num_ctas", arg(3)),
            ("maxnreg", arg(4)),
            ("pre_hook", arg(5)),
        ],
    )
}

fn with_kind(function: Value, kind: FunctionKind) -> Value {
    match function {
        Value::Function(f) => Value::Function(Rc::new(Function {
            def: f.def.clone(),
            module: f.module,
            kind,
            class: f.class.clone(),
            captured: f.captured.clone(),
        })),
        other => other,
    }
}

fn type_info(cx: &mut Cx<'_>, float: bool, dtype: &Value) -> Result<Value> {
    let Value::Type(ty) = dtype else {
        return Err(cx.error(format!("it takes a type, not {}", dtype.describe())));
    };
    let Some(dtype) = ty.dtype() else {
        return Err(cx.error(format!("`{ty}` is no number type")));
    };
    let names: &[&str] = if float {
        &[
            "bits",
            "max",
            "min",
            "eps",
            "tiny",
            "smallest_normal",
            "smallest_subnormal",
            "resolution",
        ]
    } else {
        &["bits", "max", "min"]
    };
    let mut fields = Vec::new();
    for name in names {
        match konst::attribute::type_info(dtype, float, name) {
            Ok(Some(value)) => fields.push((*name, value)),
            Ok(None) => {}
            Err(why) => return Err(cx.error(why)),
        }
    }
    fields.push(("dtype", Value::str(dtype.name())));
    Ok(instance(if float { "finfo" } else { "iinfo" }, fields))
}

fn product(iterables: &Value, repeat: &Value) -> konst::Result {
    let mut columns = Vec::new();
    for items in index::iterate(iterables)? {
        columns.push(index::iterate(&items)?);
    }
    let repeat = konst::as_i64(repeat)
        .and_then(|n| usize::try_from(n).ok())
        .ok_or("`repeat` is an integer")?;
    konst::bounded_len(columns.len().saturating_mul(repeat))?;
    let columns: Vec<&Vec<Value>> = std::iter::repeat_n(&columns, repeat).flatten().collect();
    let rows = columns
        .iter()
        .fold(1usize, |rows, column| rows.saturating_mul(column.len()));
    konst::bounded_len(rows.saturating_mul(columns.len().max(1)))?;
    let mut made = Vec::with_capacity(rows);
    for row in 0..rows {
        let mut rest = row;
        let mut items: Vec<Value> = Vec::with_capacity(columns.len());
        for column in columns.iter().rev() {
            items.push(column[rest % column.len()].clone());
            rest /= column.len();
        }
        items.reverse();
        made.push(Value::tuple(items));
    }
    Ok(konst::list(made))
}

fn named_tuple(name: &Value, fields: &Value, defaults: &Value) -> konst::Result {
    let names: Vec<Name> = match fields {
        Value::Str(text) => text
            .split([',', ' ', '\t', '\n'])
            .filter(|part| !part.is_empty())
            .map(Name::from)
            .collect(),
        fields => index::iterate(fields)?
            .iter()
            .map(|v| Name::from(konst::str(v)))
            .collect(),
    };
    let defaults = match defaults {
        Value::None => Vec::new(),
        defaults => index::iterate(defaults)?,
    };
    let first = names.len().saturating_sub(defaults.len());
    Ok(Value::Class(Rc::new(Class {
        name: konst::str(name).into(),
        kind: ClassKind::NamedTuple,
        members: names.iter().skip(first).cloned().zip(defaults).collect(),
        fields: names.into_iter().map(|n| (n, Value::None)).collect(),
    })))
}

/// The numbers of a version without zeros at the end, so that tuples compare as versions do.
fn version(text: &str) -> Value {
    let mut numbers = Vec::new();
    for part in text.trim_start_matches('v').split('.') {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        match digits.parse::<u32>() {
            Ok(number) => numbers.push(number),
            Err(_) => break,
        }
        if digits.len() < part.len() {
            break;
        }
    }
    while numbers.last() == Some(&0) {
        numbers.pop();
    }
    Value::tuple(numbers.into_iter().map(Value::int).collect())
}
