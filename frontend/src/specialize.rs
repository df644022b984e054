//! What Triton's launcher compiles into a kernel of the arguments that it is given.
//!
//! A pure function of plain facts, as in `runtime/jit.py` and its native part: an integer equal to 1 and `None`
//! become constants, an integer that is a multiple of 16 and a pointer aligned to 16 bytes are marked
//! `tt.divisibility`, and a parameter's annotation or `do_not_specialize` says otherwise. Nothing here reads a file
//! or knows a launch file; what cannot be passed is said in words, for the caller to put at its place.

use num_bigint::BigInt;
use tilescope_ir::Shape;

use crate::ast::{Expr, ExprKind};
use crate::request::{ArgSpec, Specialized};
use crate::source::KernelParam;
use crate::types::{Dtype, Elem, PtrTy};
use crate::value::Value;

/// Triton marks what is a multiple of this many, in bytes for pointers.
const DIVISOR: i128 = 16;

/// An argument as host code passes it.
#[derive(Debug, Clone)]
pub enum Given {
    /// `None`.
    None,
    /// A truth value.
    Bool(bool),
    /// An integer; `dtype` where the launch says what it is to be.
    Int {
        /// Its value.
        value: i128,
        /// Its type, unless it is to be inferred.
        dtype: Option<Dtype>,
    },
    /// A float.
    Float {
        /// Its value.
        value: f64,
        /// Its type, unless `float32`.
        dtype: Option<Dtype>,
    },
    /// A tensor on the device: its elements' type and the address of element (0, …, 0).
    Pointer {
        /// What it points to.
        to: Dtype,
        /// In bytes.
        address: u64,
    },
    /// A tensor descriptor made by the host.
    Descriptor {
        /// The block that it loads and stores.
        block: Shape,
        /// Its elements.
        elem: Dtype,
    },
    /// A tuple of arguments.
    Tuple(Vec<Given>),
    /// The value of a `tl.constexpr` parameter.
    Constant(Value),
}

/// What a parameter's declaration says about specialisation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rules {
    /// Named in `do_not_specialize`.
    pub do_not_specialize: bool,
    /// Named in `do_not_specialize_on_alignment`.
    pub do_not_specialize_on_alignment: bool,
    /// Annotated `tl.const`.
    pub is_const: bool,
    /// The type of its annotation, where that is one (`n: tl.int64`).
    pub annotation: Option<Elem>,
}

/// The type that a parameter's annotation says, as Triton's launcher reads it: `tl.int64`, `int`, `"*fp32"`,
/// `tl.pointer_type(tl.float16)`; an annotation that is no such type (`torch.Tensor`) says nothing.
pub fn annotated_type(annotation: &Expr) -> Option<Elem> {
    let word = word(annotation)?;
    let text = word.trim_start_matches('*');
    let levels = u8::try_from(word.len() - text.len()).ok()?;
    let (text, is_const) = match text.strip_prefix('k').filter(|_| levels > 0) {
        Some(text) => (text, true),
        None => (text, false),
    };
    let to = named_type(&text.replace("_t", ""))?;
    match levels {
        0 => Some(Elem::Num(to)),
        1 => Some(Elem::Ptr(PtrTy { to, levels, is_const })),
        _ => None,
    }
}

/// Whether an annotation makes the parameter a pointer that is not stored through: `tl.const`, `"const *fp32"`.
pub fn annotated_const(annotation: &Expr) -> bool {
    word(annotation).is_some_and(|word| word == "const" || word.starts_with("*k"))
}

/// An annotation as Triton spells types: `i64`-like words behind stars, `*k` in front of a constant pointee.
fn word(annotation: &Expr) -> Option<String> {
    match &annotation.kind {
        ExprKind::Str(text) => Some(canonical(text)),
        ExprKind::Name(name) => Some(canonical(name)),
        // The dtypes of torch are other objects, which the launcher does not know.
        ExprKind::Attribute(of, _) if matches!(&of.kind, ExprKind::Name(name) if &**name == "torch") => None,
        ExprKind::Attribute(_, name) => Some(canonical(&name.name)),
        ExprKind::Call(call) => {
            let function = word(&call.function)?;
            let to = word(call.args.first()?)?;
            (function == "pointer_type").then(|| format!("*{to}"))
        }
        _ => None,
    }
}

fn canonical(text: &str) -> String {
    let text = text.trim();
    let Some(text) = text.strip_prefix("const ") else {
        return starred(text);
    };
    let text = starred(text);
    match text.strip_prefix('*') {
        Some(rest) => format!("*k{rest}"),
        None => text,
    }
}

fn starred(text: &str) -> String {
    let mut text = text.trim();
    let mut stars = String::new();
    while let Some(rest) = text.strip_prefix('*').or(text.strip_suffix('*')) {
        stars.push('*');
        text = rest.trim();
    }
    let text = text.strip_prefix("tl.").unwrap_or(text);
    format!("{stars}{text}")
}

/// A number type by any of the names that Triton's launcher knows.
fn named_type(name: &str) -> Option<Dtype> {
    Some(match name {
        "bool" | "int1" | "uint1" | "i1" | "u1" => Dtype::Int1,
        "float8e4nv" | "float8_e4m3fn" => Dtype::Fp8e4nv,
        "float8e5" | "float8_e5m2" => Dtype::Fp8e5,
        "float8e4b15" => Dtype::Fp8e4b15,
        "float8e4b8" | "float8_e4m3fnuz" => Dtype::Fp8e4b8,
        "float8e5b16" | "float8_e5m2fnuz" => Dtype::Fp8e5b16,
        "half" | "float16" => Dtype::Fp16,
        "bfloat16" => Dtype::Bf16,
        "float" | "float32" => Dtype::Fp32,
        "double" | "float64" => Dtype::Fp64,
        "int" | "i32" => Dtype::Int32,
        "i8" => Dtype::Int8,
        "i16" => Dtype::Int16,
        "i64" => Dtype::Int64,
        "u8" => Dtype::Uint8,
        "u16" => Dtype::Uint16,
        "u32" => Dtype::Uint32,
        "u64" => Dtype::Uint64,
        _ => return Dtype::ALL.into_iter().find(|dtype| dtype.name() == name),
    })
}

impl Rules {
    /// What the declaration of a kernel's parameter says.
    pub fn of(param: &KernelParam) -> Rules {
        Rules {
            do_not_specialize: param.do_not_specialize,
            do_not_specialize_on_alignment: param.do_not_specialize_on_alignment,
            is_const: param.annotation.as_ref().is_some_and(annotated_const),
            annotation: param.annotation.as_ref().and_then(annotated_type),
        }
    }
}

impl Given {
    /// What host code (heuristics) sees of it: numbers as they are, a tensor as something that is not `None`.
    pub fn host(&self) -> Value {
        match self {
            Given::None => Value::None,
            Given::Bool(value) => Value::Bool(*value),
            Given::Int { value, .. } => Value::Int(BigInt::from(*value)),
            Given::Float { value, .. } => Value::Float(*value),
            Given::Pointer { .. } => Value::Opaque("a tensor".into()),
            Given::Descriptor { .. } => Value::Opaque("a tensor descriptor".into()),
            Given::Tuple(items) => Value::tuple(items.iter().map(Given::host).collect()),
            Given::Constant(value) => value.clone(),
        }
    }

    /// A default value, passed because the launch gives nothing; none for what the launcher refuses.
    pub fn of(value: &Value) -> Option<Given> {
        Some(match value {
            Value::None => Given::None,
            Value::Bool(value) => Given::Bool(*value),
            Value::Int(value) => Given::Int {
                value: i128::try_from(value.clone()).ok()?,
                dtype: None,
            },
            Value::Float(value) => Given::Float {
                value: *value,
                dtype: None,
            },
            Value::Tuple(tuple) => Given::Tuple(tuple.items.iter().map(Given::of).collect::<Option<_>>()?),
            _ => return None,
        })
    }
}

/// What is compiled for an argument: its type with what is known of its value, or the value itself.
///
/// # Errors
/// An integer that no argument can hold, in words.
pub fn specialize(given: &Given, rules: Rules) -> Result<ArgSpec, String> {
    let annotation = match (rules.annotation, given) {
        (Some(elem), _) => Some(elem),
        (
            None,
            Given::Int {
                dtype: Some(dtype), ..
            }
            | Given::Float {
                dtype: Some(dtype), ..
            },
        ) => Some(Elem::Num(*dtype)),
        _ => None,
    };
    match given {
        Given::Constant(value) => Ok(ArgSpec::Constant(value.clone())),
        Given::Descriptor { block, elem } => Ok(ArgSpec::Descriptor(*block, *elem)),
        Given::Tuple(items) => {
            // What a parameter says does not reach into a tuple, as in Triton.
            let items = items.iter().map(|item| specialize(item, Rules::default()));
            Ok(ArgSpec::Tuple(items.collect::<Result<_, _>>()?))
        }
        // An annotation is the type, whatever the value: 1 and `None` stay arguments, and nothing is known of
        // floats and truth values.
        _ => match annotation {
            Some(elem) => Ok(ArgSpec::Scalar(
                elem,
                Specialized {
                    divisible_by_16: takes_hints(elem) && divisible(given, rules),
                },
            )),
            None => natural(given, rules),
        },
    }
}

/// The type that the value alone implies.
fn natural(given: &Given, rules: Rules) -> Result<ArgSpec, String> {
    let known = Specialized {
        divisible_by_16: divisible(given, rules),
    };
    Ok(match given {
        Given::None => ArgSpec::Constant(Value::None),
        Given::Bool(_) => ArgSpec::Scalar(Elem::Num(Dtype::Int1), known),
        Given::Int { value: 1, .. } if !rules.do_not_specialize => ArgSpec::Constant(Value::int(1)),
        Given::Int { value, .. } => ArgSpec::Scalar(Elem::Num(int_type(*value)?), known),
        Given::Float { .. } => ArgSpec::Scalar(Elem::Num(Dtype::Fp32), known),
        Given::Pointer { to, .. } => {
            let pointer = PtrTy {
                to: *to,
                levels: 1,
                is_const: rules.is_const,
            };
            ArgSpec::Scalar(Elem::Ptr(pointer), known)
        }
        Given::Descriptor { block, elem } => ArgSpec::Descriptor(*block, *elem),
        Given::Tuple(_) | Given::Constant(_) => ArgSpec::Constant(given.host()),
    })
}

fn divisible(given: &Given, rules: Rules) -> bool {
    let multiple = match given {
        Given::Int { value, .. } => value % DIVISOR == 0,
        Given::Pointer { address, .. } => i128::from(*address) % DIVISOR == 0,
        _ => false,
    };
    multiple && !rules.do_not_specialize && !rules.do_not_specialize_on_alignment
}

fn takes_hints(elem: Elem) -> bool {
    match elem {
        Elem::Num(dtype) => !dtype.is_float() && dtype != Dtype::Int1,
        Elem::Ptr(_) => true,
    }
}

/// The narrowest of `int32`, `int64`, `uint64` that holds it.
fn int_type(value: i128) -> Result<Dtype, String> {
    if i32::try_from(value).is_ok() {
        Ok(Dtype::Int32)
    } else if i64::try_from(value).is_ok() {
        Ok(Dtype::Int64)
    } else if u64::try_from(value).is_ok() {
        Ok(Dtype::Uint64)
    } else {
        Err(format!("{value} does not fit 64 bits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(value: i128) -> Given {
        Given::Int { value, dtype: None }
    }

    fn shown(given: &Given, rules: Rules) -> String {
        match specialize(given, rules) {
            Ok(spec) => show(&spec),
            Err(why) => why,
        }
    }

    fn show(spec: &ArgSpec) -> String {
        match spec {
            ArgSpec::Constant(value) => format!("{value:?}"),
            ArgSpec::Global(name) => name.to_string(),
            ArgSpec::Scalar(elem, known) => {
                format!("{elem}{}", if known.divisible_by_16 { " D" } else { "" })
            }
            ArgSpec::Descriptor(block, elem) => format!("{elem}{block:?}"),
            ArgSpec::Tuple(items) => items.iter().map(show).collect::<Vec<_>>().join(", "),
        }
    }

    const PLAIN: Rules = Rules {
        do_not_specialize: false,
        do_not_specialize_on_alignment: false,
        is_const: false,
        annotation: None,
    };
    const NEVER: Rules = Rules {
        do_not_specialize: true,
        ..PLAIN
    };
    const UNALIGNED: Rules = Rules {
        do_not_specialize_on_alignment: true,
        ..PLAIN
    };

    /// What Triton 3.9's own `native_specialize_impl` answers.
    #[test]
    fn integers_are_specialised_as_triton_does() {
        let least = i128::from(i64::MIN);
        for (value, plain, never, unaligned) in [
            (0, "int32 D", "int32", "int32"),
            (1, "Int(1)", "int32", "Int(1)"),
            (2, "int32", "int32", "int32"),
            (16, "int32 D", "int32", "int32"),
            (-16, "int32 D", "int32", "int32"),
            (-1, "int32", "int32", "int32"),
            ((1 << 31) - 1, "int32", "int32", "int32"),
            (1 << 31, "int64 D", "int64", "int64"),
            (-(1 << 31), "int32 D", "int32", "int32"),
            (-(1 << 31) - 1, "int64", "int64", "int64"),
            ((1 << 63) - 1, "int64", "int64", "int64"),
            (1 << 63, "uint64 D", "uint64", "uint64"),
            ((1 << 64) - 1, "uint64", "uint64", "uint64"),
            (least, "int64 D", "int64", "int64"),
        ] {
            assert_eq!(shown(&int(value), PLAIN), plain, "{value}");
            assert_eq!(shown(&int(value), NEVER), never, "{value}");
            assert_eq!(shown(&int(value), UNALIGNED), unaligned, "{value}");
        }
        for value in [1 << 64, least - 1] {
            assert_eq!(shown(&int(value), PLAIN), format!("{value} does not fit 64 bits"));
        }
    }

    #[test]
    fn pointers_by_their_address() {
        let pointer = |address| Given::Pointer {
            to: Dtype::Fp16,
            address,
        };
        assert_eq!(shown(&pointer(512), PLAIN), "pointer<fp16> D");
        assert_eq!(shown(&pointer(514), PLAIN), "pointer<fp16>");
        assert_eq!(shown(&pointer(512), NEVER), "pointer<fp16>");
        assert_eq!(shown(&pointer(512), UNALIGNED), "pointer<fp16>");
        let constant = Rules {
            is_const: true,
            ..PLAIN
        };
        assert_eq!(shown(&pointer(512), constant), "pointer<const fp16> D");
    }

    #[test]
    fn other_arguments() {
        for (given, plain) in [
            (Given::None, "None"),
            (Given::Bool(true), "int1"),
            (
                Given::Float {
                    value: 16.0,
                    dtype: None,
                },
                "fp32",
            ),
            (
                Given::Float {
                    value: 16.0,
                    dtype: Some(Dtype::Fp64),
                },
                "fp64",
            ),
        ] {
            assert_eq!(shown(&given, PLAIN), plain);
            assert_eq!(shown(&given, NEVER), plain);
        }
        // The elements of a tuple are specialised whatever the parameter says.
        let tuple = Given::Tuple(vec![int(1), int(16), Given::Tuple(vec![Given::None])]);
        for rules in [PLAIN, NEVER, UNALIGNED] {
            assert_eq!(shown(&tuple, rules), "Int(1), int32 D, None");
        }
    }

    #[test]
    fn an_annotation_is_the_type() {
        let annotated = |dtype| Rules {
            annotation: Some(Elem::Num(dtype)),
            ..PLAIN
        };
        assert_eq!(shown(&int(1), annotated(Dtype::Int64)), "int64");
        assert_eq!(shown(&int(32), annotated(Dtype::Int64)), "int64 D");
        assert_eq!(shown(&int(32), annotated(Dtype::Fp32)), "fp32");
        assert_eq!(shown(&Given::Bool(true), annotated(Dtype::Int1)), "int1");
        let given = Given::Int {
            value: 1,
            dtype: Some(Dtype::Uint32),
        };
        assert_eq!(shown(&given, PLAIN), "uint32");
    }

    #[test]
    fn annotations_are_read_as_triton_reads_them() {
        let text = |text: &str| Expr {
            span: crate::ast::Span::default(),
            kind: ExprKind::Str(text.into()),
        };
        for (annotation, ty) in [
            ("tl.int64", "int64"),
            ("int", "int32"),
            ("bool", "int1"),
            ("uint8_t", "uint8"),
            ("bf16", "bf16"),
            ("*fp32", "pointer<fp32>"),
            ("fp16*", "pointer<fp16>"),
            ("const *i8", "pointer<const int8>"),
            ("*ku8", "pointer<const uint8>"),
        ] {
            let read = annotated_type(&text(annotation)).map(|elem| elem.to_string());
            assert_eq!(read.as_deref(), Some(ty), "{annotation}");
        }
        let consts = "const ".repeat(100_000) + "*i8";
        for annotation in [
            "tl.tensor",
            "torch.Tensor",
            "**i8",
            "",
            "*",
            "constexpr",
            "const",
            &consts,
        ] {
            assert_eq!(annotated_type(&text(annotation)), None, "{annotation}");
        }
        assert!(annotated_const(&text("tl.const")) && annotated_const(&text("const *i8")));
        assert!(!annotated_const(&text("tl.constexpr")) && !annotated_const(&text("*i8")));
    }
}
