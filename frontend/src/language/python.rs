//! Python's own functions, which host code calls by their bare names and kernels partly too.
//!
//! Their values come from [`konst`]; here is what needs the compilation: calls of functions given as arguments,
//! attributes, and run-time operands of `min` and `max`.

use super::{Bound, Builtin, raw_builtins};
use crate::ast::Name;
use crate::cx::{Args, Cx, Mode, Result};
use crate::konst::{self, functions, index, methods};
use crate::types::{Elem, Ty};
use crate::value::{ClassKind, Range, Value};

raw_builtins! { CLASSES in "builtins", Class, lower;
    "int" "x=0, base=None", "The integer that a value is, or that a text says.";
    "float" "x=0", "The float that a value is, or that a text says.";
    "bool" "x=False", "Whether a value counts as true.";
    "str" "object=\"\"", "The text of a value.";
    "tuple" "iterable=()", "The items of a value as a tuple.";
    "list" "iterable=()", "The items of a value as a list.";
    "set" "iterable=()", "The different items of a value.";
    "frozenset" "iterable=()", "The different items of a value.";
    "dict" "*args, **kwargs", "A dictionary.";
    "range" "start, stop=None, step=1, num_stages=None, loop_unroll_factor=None, disallow_acc_multi_buffer=None, flatten=None, warp_specialize=None, disable_licm=None",
        "The integers from `start` to before `stop`; the hints of `tl.range` are taken and say nothing, as in Triton.";
    "slice" "start, stop=None, step=None", "What stands between `[` and `]`.";
    "type" "object", "The class of a value.";
    "object" "", "The class of everything.";
}

raw_builtins! { FUNCTIONS in "builtins", Function, lower;
    "len" "obj", "The number of items.";
    "min" "*args, key=None, default=None", "The smallest of its arguments, or of the items of one.";
    "max" "*args, key=None, default=None", "The largest of its arguments, or of the items of one.";
    "abs" "x", "The absolute value.";
    "sum" "iterable, start=0", "The sum of the items.";
    "any" "iterable", "Whether an item counts as true.";
    "all" "iterable", "Whether all items count as true.";
    "isinstance" "obj, classinfo", "Whether a value is of a class, or of one of several.";
    "issubclass" "cls, classinfo", "Whether a class is another one.";
    "getattr" "obj, name, *default", "The attribute with this name.";
    "hasattr" "obj, name", "Whether there is an attribute with this name.";
    "callable" "obj", "Whether a value can be called.";
    "print" "*args, **kwargs", "Says its arguments when the kernel is compiled.";
    "zip" "*iterables, strict=False", "Items of several values side by side.";
    "enumerate" "iterable, start=0", "Items with their positions.";
    "sorted" "iterable, key=None, reverse=False", "The items in order.";
    "reversed" "sequence", "The items from last to first.";
    "map" "function, *iterables", "What a function makes of the items.";
    "filter" "function, iterable", "The items that a function lets through.";
    "iter" "iterable", "The items.";
    "round" "number, ndigits=None", "The nearest number with so many digits.";
    "pow" "base, exp, mod=None", "A power.";
    "divmod" "a, b", "Quotient and remainder.";
    "repr" "object", "The text of a value as code writes it.";
    "ascii" "object", "The same without characters beyond ASCII.";
    "format" "value, format_spec=\"\"", "A value in a format.";
    "ord" "c", "The code of a character.";
    "chr" "i", "The character with a code.";
    "hex" "x", "An integer in base 16.";
    "oct" "x", "An integer in base 8.";
    "bin" "x", "An integer in base 2.";
}

/// The row of a name.
pub(super) fn find(name: &str) -> Option<&'static Builtin> {
    CLASSES.iter().chain(FUNCTIONS).find(|row| row.name == name)
}

/// Names of Python's that Triton's kernels may use; others are not defined in them.
pub const IN_KERNELS: [&str; 11] = [
    "len",
    "list",
    "range",
    "float",
    "int",
    "isinstance",
    "getattr",
    "hasattr",
    "print",
    "min",
    "max",
];

fn lower(cx: &mut Cx<'_>, bound: &Bound) -> Result<Value> {
    let name = bound.builtin.name;
    let arg = |at: usize| bound.values.get(at).unwrap_or(&Value::None);
    match name {
        "min" | "max" => return extreme(cx, bound),
        "isinstance" | "issubclass" => {
            return is_instance(arg(0), arg(1), name == "issubclass")
                .map(Value::Bool)
                .map_err(|why| cx.error(why));
        }
        "getattr" | "hasattr" => return attribute(cx, bound),
        "print" => return print(cx, bound),
        "sorted" => {
            let items = index::iterate(arg(0)).map_err(|why| cx.error(why))?;
            let keys = keys(cx, &items, arg(1))?;
            let reverse = konst::truth(arg(2)).map_err(|why| cx.error(why))?;
            let keyed = keys.into_iter().zip(items).collect();
            return methods::sorted_by_key(keyed, reverse)
                .map(konst::list)
                .map_err(|why| cx.error(why));
        }
        "map" | "filter" => return map(cx, bound),
        _ => {}
    }
    if !matches!(name, "tuple" | "list" | "len" | "range" | "type")
        && bound.values.iter().any(Value::is_runtime)
    {
        return Err(cx
            .error(format!(
                "`{name}` is Python's function and takes compile-time values"
            ))
            .note("one of its arguments is known only at run time"));
    }
    let value = constant(name, bound).map_err(|why| cx.error(why))?;
    cx.pay(&value)?;
    Ok(value)
}

/// The functions that take and give values and nothing else.
fn constant(name: &str, bound: &Bound) -> konst::Result {
    let arg = |at: usize| bound.values.get(at).unwrap_or(&Value::None);
    let text = |text: String| Ok(Value::str(&text));
    match name {
        "int" => functions::int(arg(0), Some(arg(1)).filter(|base| !matches!(base, Value::None))),
        "float" => functions::float(arg(0)),
        "bool" => konst::truth(arg(0)).map(Value::Bool),
        "str" => match arg(0) {
            Value::Opaque(why) => Err(why.to_string()),
            value => text(konst::str(value)),
        },
        "tuple" => index::iterate(arg(0)).map(Value::tuple),
        "list" | "iter" => index::iterate(arg(0)).map(konst::list),
        "set" | "frozenset" => konst::set(index::iterate(arg(0))?),
        "dict" => dict(arg(0), arg(1)),
        "range" => range(arg(0), arg(1), arg(2)),
        "slice" => Ok(match arg(1) {
            Value::None => Value::Slice([Value::None, arg(0).clone(), Value::None].into()),
            stop => Value::Slice([arg(0).clone(), stop.clone(), arg(2).clone()].into()),
        }),
        "type" => class_of(arg(0)).ok_or_else(|| "the class of this value has no name here".to_string()),
        "len" => index::len(arg(0)).map(Value::int),
        "abs" => functions::abs(arg(0)),
        "sum" => functions::sum(arg(0), arg(1).clone()),
        "any" | "all" => functions::any(arg(0), name == "all"),
        "callable" => Ok(Value::Bool(matches!(
            arg(0),
            Value::Function(_) | Value::Lambda(_) | Value::Builtin(_) | Value::Class(_) | Value::Method(_)
        ))),
        "zip" => functions::zip(&index::iterate(arg(0))?),
        "enumerate" => functions::enumerate(arg(0), arg(1)),
        "reversed" => {
            let mut items = index::iterate(arg(0))?;
            items.reverse();
            Ok(konst::list(items))
        }
        "round" => functions::round(arg(0), Some(arg(1))),
        "pow" => functions::pow(arg(0), arg(1), Some(arg(2))),
        "divmod" => functions::divmod(arg(0), arg(1)),
        "repr" => text(konst::repr(arg(0))),
        "ascii" => text(konst::text::ascii(arg(0))),
        "format" => konst::format::format(arg(0), &konst::str(arg(1))).and_then(text),
        "ord" => functions::ord(arg(0)),
        "chr" => functions::chr(arg(0)),
        "hex" => functions::radix(arg(0), 16, "0x"),
        "oct" => functions::radix(arg(0), 8, "0o"),
        "bin" => functions::radix(arg(0), 2, "0b"),
        _ => Err(format!("`{name}` cannot be called here")),
    }
}

fn dict(args: &Value, keywords: &Value) -> konst::Result {
    let mut entries = Vec::new();
    let mut add = |source: &Value| -> konst::Result<()> {
        if let Value::Dict(other) = source {
            entries.extend(other.borrow().iter().cloned());
            return Ok(());
        }
        for pair in index::iterate(source)? {
            let pair = index::iterate(&pair)?;
            let [key, value] = &pair[..] else {
                return Err("`dict` takes pairs".to_string());
            };
            index::insert(&mut entries, key.clone(), value.clone())?;
        }
        Ok(())
    };
    for source in index::iterate(args)? {
        add(&source)?;
    }
    add(keywords)?;
    Ok(konst::dict(entries))
}

fn range(start: &Value, stop: &Value, step: &Value) -> konst::Result {
    let (start, stop) = match stop {
        Value::None => (Value::int(0), start.clone()),
        stop => (start.clone(), stop.clone()),
    };
    for bound in [&start, &stop, step] {
        // The evaluator says which run-time values a loop takes.
        if konst::as_int(bound).is_none() && !matches!(bound, Value::Tensor(_)) {
            return Err(format!(
                "`range` takes integers, not a value of type {}",
                konst::type_name(bound)
            ));
        }
    }
    Ok(Value::Range(std::rc::Rc::new(Range {
        start,
        stop,
        step: step.clone(),
        is_static: false,
        hints: Vec::new(),
    })))
}

/// `type(value)`.
fn class_of(value: &Value) -> Option<Value> {
    let python = |name: &str| find(name).map(Value::Builtin);
    match value {
        Value::Bool(_) => python("bool"),
        Value::Int(_) => python("int"),
        Value::Float(_) => python("float"),
        Value::Str(_) => python("str"),
        Value::Tuple(tuple) => match &tuple.class {
            Some(class) => Some(Value::Class(class.clone())),
            None => python("tuple"),
        },
        Value::List(_) => python("list"),
        Value::Set(_) => python("set"),
        Value::Dict(_) => python("dict"),
        Value::Range(_) => python("range"),
        Value::Instance(instance) => Some(Value::Class(instance.class.clone())),
        Value::Tensor(_) => super::attribute("triton.language", "tensor"),
        Value::Type(_) => super::attribute("triton.language", "dtype"),
        _ => None,
    }
}

/// Whether a value is of a class (or, for `issubclass`, a class is another).
fn is_instance(value: &Value, class: &Value, subclass: bool) -> konst::Result<bool> {
    match class {
        Value::Tuple(classes) => {
            for class in classes.items.iter() {
                if is_instance(value, class, subclass)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        _ if subclass => Ok(konst::identical(value, class)),
        Value::Class(class) => Ok(match value {
            Value::Instance(instance) => {
                instance.class.name == class.name && instance.class.kind == class.kind
            }
            Value::Tuple(tuple) => tuple.class.as_ref().is_some_and(|c| c.name == class.name),
            _ => false,
        }),
        // Constants are not wrapped here, and Triton unwraps them before it asks.
        Value::Type(Ty::Constexpr) => Ok(false),
        Value::Builtin(row) => match (value, row.name) {
            (Value::Opaque(why), "Tensor") => Ok(why.contains("tensor")),
            (Value::Opaque(why), _) => Err(why.to_string()),
            (Value::Bool(_), "bool" | "int") => Ok(true),
            (Value::Int(_), "int") => Ok(true),
            (Value::Instance(instance), "int") => Ok(instance.class.kind == ClassKind::IntEnum),
            (Value::Float(_), "float") | (Value::Str(_), "str") | (Value::Dict(_), "dict") => Ok(true),
            (Value::Tuple(_), "tuple") | (Value::List(_), "list") => Ok(true),
            (Value::Set(_), "set" | "frozenset") => Ok(true),
            (Value::Range(_), "range" | "static_range") => Ok(true),
            (Value::Class(_) | Value::Type(_), "type") | (_, "object") => Ok(true),
            (Value::Tensor(_), "tensor" | "base_value") => Ok(true),
            (Value::Descriptor(_), "tensor_descriptor" | "tensor_descriptor_base" | "base_value") => Ok(true),
            (Value::Type(Ty::Scalar(Elem::Ptr(_))), "pointer_type") => Ok(true),
            (Value::Type(Ty::Block(..)), "block_type") => Ok(true),
            (Value::Type(_), "dtype" | "base_type") => Ok(true),
            _ => Ok(false),
        },
        Value::Opaque(why) => Err(why.to_string()),
        other => Err(format!("a value of type {} is no class", konst::type_name(other))),
    }
}

/// What values are compared by.
fn keys(cx: &mut Cx<'_>, items: &[Value], key: &Value) -> Result<Vec<Value>> {
    if matches!(key, Value::None) {
        return Ok(items.to_vec());
    }
    let span = cx.place.span;
    let mut keys = Vec::with_capacity(items.len());
    for item in items {
        let value = cx.call(key, Args::of(vec![item.clone()], span))?;
        if let Value::Opaque(why) = &value {
            return Err(cx.opaque(why));
        }
        keys.push(value);
    }
    Ok(keys)
}

fn extreme(cx: &mut Cx<'_>, bound: &Bound) -> Result<Value> {
    let largest = bound.builtin.name == "max";
    let Some(Value::Tuple(args)) = bound.values.first() else {
        return Err(cx.error("`min` and `max` take values"));
    };
    if args.items.iter().any(|v| matches!(v, Value::Tensor(_))) {
        let row = super::attribute("triton.language", if largest { "maximum" } else { "minimum" });
        let (Some(row), Some((first, rest))) = (row, args.items.split_first()) else {
            return Err(cx.unsupported("`min` and `max` of run-time values"));
        };
        let span = cx.place.span;
        let mut best = first.clone();
        for value in rest {
            best = cx.call(&row, Args::of(vec![best, value.clone()], span))?;
        }
        return Ok(best);
    }
    let items = match &args.items[..] {
        [one] => index::iterate(one).map_err(|why| cx.error(why))?,
        several => several.to_vec(),
    };
    let default = bound.values.get(2).filter(|v| !matches!(v, Value::None));
    if let (true, Some(default)) = (items.is_empty(), default) {
        return Ok(default.clone());
    }
    let keys = keys(cx, &items, bound.values.get(1).unwrap_or(&Value::None))?;
    functions::extreme(&items, &keys, largest).map_err(|why| cx.error(why))
}

fn map(cx: &mut Cx<'_>, bound: &Bound) -> Result<Value> {
    let (Some(function), Some(rest)) = (bound.values.first(), bound.values.get(1)) else {
        return Ok(konst::list(Vec::new()));
    };
    let span = cx.place.span;
    let wrong = |cx: &Cx<'_>, why: String| cx.error(why);
    let mut made = Vec::new();
    if bound.builtin.name == "filter" {
        for item in index::iterate(rest).map_err(|why| wrong(cx, why))? {
            let kept = match function {
                Value::None => item.clone(),
                function => cx.call(function, Args::of(vec![item.clone()], span))?,
            };
            if konst::truth(&kept).map_err(|why| wrong(cx, why))? {
                made.push(item);
            }
        }
        return Ok(konst::list(made));
    }
    let sequences = index::iterate(rest).map_err(|why| wrong(cx, why))?;
    let rows = functions::zip(&sequences)
        .and_then(|rows| index::iterate(&rows))
        .map_err(|why| wrong(cx, why))?;
    for row in rows {
        let row = index::iterate(&row).map_err(|why| wrong(cx, why))?;
        made.push(cx.call(function, Args::of(row, span))?);
    }
    Ok(konst::list(made))
}

/// `getattr` and `hasattr`.
fn attribute(cx: &mut Cx<'_>, bound: &Bound) -> Result<Value> {
    let (Some(of), Some(Value::Str(name))) = (bound.values.first(), bound.values.get(1)) else {
        return Err(cx.error(format!("`{}` takes a value and a name", bound.builtin.name)));
    };
    if let Value::Opaque(why) = of {
        return Err(cx.unsupported(format!("this is not known at compile time: {why}")));
    }
    let span = cx.place.span;
    let found = cx.attribute_of(of, &Name::from(&**name), span);
    if bound.builtin.name == "hasattr" {
        return match found {
            // Whether a library has a name that we do not know is not known.
            Ok(Value::Opaque(why)) => {
                Err(cx.unsupported(format!("this is not known at compile time: {why}")))
            }
            found => Ok(Value::Bool(found.is_ok())),
        };
    }
    let default = match bound.values.get(2) {
        Some(Value::Tuple(rest)) => rest.items.first().cloned(),
        _ => None,
    };
    match (found, default) {
        (Ok(value), _) => Ok(value),
        (Err(_), Some(default)) => Ok(default),
        (Err(error), None) => Err(error),
    }
}

fn print(cx: &mut Cx<'_>, bound: &Bound) -> Result<Value> {
    let Some(Value::Tuple(args)) = bound.values.first() else {
        return Ok(Value::None);
    };
    if cx.scope.mode == Mode::Jit
        && let Some(row) = super::attribute("triton.language", "device_print")
    {
        let span = cx.place.span;
        return cx.call(&row, Args::of(args.items.to_vec(), span));
    }
    let texts: Vec<String> = args.items.iter().map(konst::str).collect();
    cx.notes.push(texts.join(" "));
    Ok(Value::None)
}
