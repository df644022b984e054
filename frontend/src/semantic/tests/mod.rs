//! Small functions built through [`Cx`] alone, verified and printed.

mod families;
mod operators;
mod random;

use std::sync::Arc;

use tilescope_diagnostics::Source;
use tilescope_ir::{Module, verify};

use crate::Options;
use crate::cx::{Cx, Result};
use crate::source::{Files, Program};
use crate::types::Ty;
use crate::value::{Tensor, Value};

/// One file, empty.
#[derive(Debug)]
struct Empty;

impl Files for Empty {
    fn read(&self, _: &str) -> Result<Option<Arc<Source>>, String> {
        Ok(Some(Source::new("kernel.py", "pass\n")))
    }
}

const OPTIONS: Options = Options {
    capability: 90,
    num_warps: 4,
    num_stages: 3,
};

/// The text of a function with these parameters, verified; or the message.
fn build(params: &[Ty], body: impl FnOnce(&mut Cx<'_>, &[Value]) -> Result<()>) -> Result<String, String> {
    let program = Program::new(&Empty, Vec::new());
    let module = program.load("kernel.py").map_err(|e| e.to_string())?;
    let mut cx = Cx::new(&program, &OPTIONS, module);
    let mut args = Vec::new();
    for (i, ty) in params.iter().enumerate() {
        let ir = ty.ir().ok_or("a parameter without a type")?;
        let value = cx.b.param(&format!("p{i}"), ir, None);
        args.push(Value::Tensor(Tensor {
            value,
            ty: ty.clone(),
        }));
    }
    body(&mut cx, &args).map_err(|e| e.to_string())?;
    cx.b.return_(&[]);
    let function = cx.b.finish().map_err(|e| e.to_string())?;
    let mut module = Module::default();
    module.funcs.push(function);
    verify(&module).map_err(|errors| format!("not valid: {}", errors[0]))?;
    Ok(tilescope_ir::text::print(&module))
}

/// The operations of a text without the names of values, sorted.
fn operations(text: &str) -> Vec<String> {
    let mut ops = Vec::new();
    for line in text.lines().map(str::trim) {
        let frame = ["module", "}", "tt.func", "tt.return", "#loc"];
        if line.is_empty() || frame.iter().any(|f| line.starts_with(f)) {
            continue;
        }
        let line = line.split(" loc(").next().unwrap_or(line);
        let line = match line.split_once(" = ") {
            Some((result, rest)) if result.starts_with('%') && !result.contains(' ') => rest,
            _ => line,
        };
        let mut out = String::new();
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            out.push(c);
            while c == '%'
                && chars
                    .peek()
                    .is_some_and(|c| c.is_alphanumeric() || "_#".contains(*c))
            {
                chars.next();
            }
        }
        ops.push(out);
    }
    ops.sort();
    ops
}
