//! Library functions by symbol name: those that CUDA and the C library both have.

use tilescope_diagnostics::Result;
use tilescope_ir::{Attrs, Function, OpId};

use super::Emitter;
use super::arith::lanewise;

/// Functions of libdevice (`__nv_NAME`, `__nv_NAMEf`) that are called by their names in C.
const BY_NAME: &[&str] = &[
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "fabs",
    "fdim",
    "floor",
    "fma",
    "fmod",
    "hypot",
    "log",
    "log10",
    "log1p",
    "log2",
    "nearbyint",
    "pow",
    "rint",
    "round",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "tgamma",
    "lgamma",
    "trunc",
    "remainder",
];

/// `tt.extern_elementwise`.
pub fn extern_elementwise(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let Attrs::Extern(attrs) = &data.attrs else {
        return Ok(());
    };
    let name = attrs.symbol.strip_prefix("__nv_").unwrap_or(&attrs.symbol);
    let operands: Vec<String> = (0..data.operands.len()).map(|i| format!("${i}")).collect();
    let operands = operands.join(", ");
    let expression = match name {
        "rsqrtf" => format!("ts::rsqrt({operands})"),
        "fast_expf" => format!("ts::exp({operands})"),
        "div_rn" | "fdiv_rn" => format!("ts::div_rn({operands})"),
        _ if BY_NAME.contains(&name) => format!("::{name}({operands})"),
        _ => match name.strip_suffix('f') {
            Some(base) if BY_NAME.contains(&base) => format!("::{name}({operands})"),
            _ => return Err(e.unsupported(function, op, format!("the library function `{}`", attrs.symbol))),
        },
    };
    lanewise(e, function, op, &expression)
}
