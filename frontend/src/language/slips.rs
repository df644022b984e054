//! What authors write by habit from other libraries, and what kernels write instead.

use super::modules::{LIBDEVICE, TL, exists};

/// Names that the language does not have, and what to write.
const NAMES: &[(&str, &str)] = &[
    ("relu", "`tl.maximum(x, 0)`"),
    ("leaky_relu", "`tl.where(x > 0, x, slope * x)`"),
    ("matmul", "`tl.dot(a, b)`"),
    ("mm", "`tl.dot(a, b)`"),
    ("bmm", "`tl.dot(a, b)`"),
    ("mean", "`tl.sum(x, axis) / n`"),
    ("square", "`x * x`"),
    ("transpose", "`tl.trans(x)`"),
    ("permutation", "`tl.permute(x, dims)`"),
    ("clip", "`tl.clamp(x, min, max)`"),
    ("concat", "`tl.cat(a, b)` or `tl.join(a, b)`"),
    ("concatenate", "`tl.cat(a, b)` or `tl.join(a, b)`"),
    ("stack", "`tl.join(a, b)`"),
    (
        "power",
        "`libdevice.pow(x, y)`, after `from triton.language.extra import libdevice`",
    ),
    ("print", "`tl.device_print(\"x\", x)`"),
    ("syncthreads", "`tl.debug_barrier()`"),
    ("barrier", "`tl.debug_barrier()`"),
    ("inf", "`float(\"inf\")`"),
    ("nan", "`float(\"nan\")`"),
    ("half", "`tl.float16`"),
    ("fp16", "`tl.float16`"),
    ("f16", "`tl.float16`"),
    ("bf16", "`tl.bfloat16`"),
    ("fp32", "`tl.float32`"),
    ("f32", "`tl.float32`"),
    ("float", "`tl.float32`"),
    ("fp64", "`tl.float64`"),
    ("f64", "`tl.float64`"),
    ("double", "`tl.float64`"),
    ("bool", "`tl.int1`"),
    ("i1", "`tl.int1`"),
    ("i8", "`tl.int8`"),
    ("i16", "`tl.int16`"),
    ("short", "`tl.int16`"),
    ("i32", "`tl.int32`"),
    ("int", "`tl.int32`"),
    ("i64", "`tl.int64`"),
    ("long", "`tl.int64`"),
    ("u8", "`tl.uint8`"),
    ("u16", "`tl.uint16`"),
    ("u32", "`tl.uint32`"),
    ("uint", "`tl.uint32`"),
    ("u64", "`tl.uint64`"),
];

/// What to write for `tl.name`, a function of another library, or a bare name.
pub(crate) fn instead(name: &str) -> Option<String> {
    if let Some((_, write)) = NAMES.iter().find(|(slip, _)| *slip == name) {
        return Some(format!("write {write}"));
    }
    of_the_language(name)
}

/// What to write for a name that the language has, or its libdevice.
pub(crate) fn of_the_language(name: &str) -> Option<String> {
    if exists(TL, name) {
        return Some(format!("write `tl.{name}`"));
    }
    exists(LIBDEVICE, name)
        .then(|| format!("write `libdevice.{name}(…)`, after `from triton.language.extra import libdevice`"))
}

/// What to write for `x.name` where `x` is a tensor: conversions, and functions that are no methods.
pub(super) fn instead_of_method(name: &str) -> Option<String> {
    let ty = match name {
        "half" => "float16",
        "bfloat16" => "bfloat16",
        "float" => "float32",
        "double" => "float64",
        "int" => "int32",
        "long" => "int64",
        "bool" => "int1",
        _ => return instead(name),
    };
    Some(format!("write `x.to(tl.{ty})`"))
}

/// The type that a text names, as a kernel writes it: `'float16'` and `'fp16'` for `tl.float16`.
pub(super) fn type_named(text: &str) -> Option<String> {
    let name = text.trim_start_matches("tl.").trim_start_matches("torch.");
    match crate::language::attribute(TL, name) {
        Some(crate::value::Value::Type(_)) => Some(format!("write `tl.{name}`, without quotes")),
        _ => {
            let (_, write) = NAMES.iter().find(|(slip, _)| *slip == name)?;
            let ty = write.trim_matches('`');
            let is_type = matches!(
                crate::language::attribute(TL, ty.trim_start_matches("tl.")),
                Some(crate::value::Value::Type(_))
            );
            is_type.then(|| format!("write {write}, without quotes"))
        }
    }
}
