//! `docs/language.md`: what kernels can name, from the tables of the front end.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use tilescope_frontend::language::{Builtin, Kind, rows};

/// Where the page stands, from the root of the workspace.
pub const PAGE: &str = "docs/language.md";

const HEAD: &str = "\
# The language of kernels

Made by `cargo xtask language` from the tables in `frontend/src/language/`; do not edit.

What a kernel can name in `triton` and `triton.language`: the public names of Triton 3.2 to 3.9, and those private
ones that kernels use. A misspelt name, argument or keyword is answered with the nearest one. Extensions of forks
(`tl.extra.cann`, `tl.extra.deeplink`, `tle`, …) and Gluon are refused by name (exit status 3).

Number types are `int1 int8 int16 int32 int64 uint8 uint16 uint32 uint64 float8e4nv float8e5 float8e4b15 float8e4b8
float8e5b16 float16 bfloat16 float32 float64`. Tensors have the attributes `dtype type shape numel T` and the functions
marked `.` below as methods; tensor descriptors have `dtype type shape strides block_shape block_type`; types have
`name scalar element_ty primitive_bitwidth itemsize int_bitwidth int_signedness fp_mantissa_width exponent_bias shape
numel nbytes`.
";

/// The page as it should be.
pub fn page() -> String {
    let mut text = HEAD.to_string();
    let mut modules: Vec<&str> = Vec::new();
    for row in rows() {
        if !modules.contains(&row.module) {
            modules.push(row.module);
        }
    }
    for module in modules {
        // Writing to a String does not fail.
        let _ = write!(
            text,
            "\n## {}\n\n| name | parameters | what it does |\n|---|---|---|\n",
            title(module)
        );
        for row in rows().filter(|row| row.module == module) {
            let _ = writeln!(
                text,
                "| `{}` | {} | {} |",
                name(row),
                parameters(row),
                escaped(row.doc)
            );
        }
    }
    text
}

fn title(module: &str) -> String {
    match module {
        "triton.language.tensor" => "Further methods of tensors".to_string(),
        "triton.language.tensor_descriptor" => "Methods of tensor descriptors".to_string(),
        "triton.language.dtype" => "Methods of types".to_string(),
        "triton.language.extra.libdevice" => {
            "`triton.language.extra.libdevice`, also as `cuda.libdevice` and `hip.libdevice`".to_string()
        }
        other => format!("`{other}`"),
    }
}

fn name(row: &Builtin) -> String {
    match row.kind {
        Kind::Method | Kind::DescriptorMethod | Kind::TypeMethod => format!(".{}", row.name),
        Kind::Function | Kind::Class | Kind::Host | Kind::Member => row.name.to_string(),
    }
}

fn parameters(row: &Builtin) -> String {
    match row.params {
        "" => String::new(),
        params => format!("`{}`", escaped(params)),
    }
}

/// Cells of a table end at a bar.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Writes the page.
pub fn write(root: &Path) -> Result<()> {
    std::fs::write(root.join(PAGE), page()).with_context(|| format!("cannot write {PAGE}"))
}
