//! `tilescope list FILE.py`: the kernels of a Python file with their parameters.

use anyhow::Result;
use serde_json::{Value, json};
use tilescope_diagnostics::{Error, Source};
use tilescope_frontend::ast::{Expr, ExprKind};
use tilescope_frontend::outline;
use tilescope_frontend::source::{KernelInfo, KernelParam, Program};

use crate::args::List;
use crate::files;
use crate::status::Status;
use crate::terminal::Terminal;

/// Lists kernels, then the helpers that only they call.
pub fn run(args: &List, terminal: &Terminal) -> Result<Status> {
    let listed = match list(args) {
        Ok(listed) => listed,
        Err(error) => {
            terminal.error(&error);
            return Ok(Status::of(&error));
        }
    };
    terminal.page(&listed)?;
    Ok(Status::Clean)
}

fn list(args: &List) -> Result<String, Box<Error>> {
    let file = args.file.to_string_lossy();
    if let Some((file, _)) = file.split_once("::").filter(|_| !args.file.exists()) {
        return Err(
            Error::input(String::from("`list` takes a file, and lists all of its kernels"))
                .help(format!("tilescope list {file}")),
        );
    }
    let (files, name) = files::open_python(&args.file)?;
    let program = Program::new(&files, Vec::new());
    let module = program.load(&name)?;
    let source = program.source(module);
    let helpers = outline::helpers(&program, module);
    let (helpers, kernels): (Vec<KernelInfo>, Vec<KernelInfo>) = program
        .kernels(module)
        .into_iter()
        .partition(|kernel| helpers.contains(&kernel.name));
    if args.json {
        let all =
            |kernels: &[KernelInfo]| -> Vec<Value> { kernels.iter().map(|k| as_json(k, &source)).collect() };
        let report = json!({ "file": source.name, "kernels": all(&kernels), "helpers": all(&helpers) });
        return Ok(format!("{report:#}\n"));
    }
    if kernels.is_empty() && helpers.is_empty() {
        return Ok(format!(
            "{}: no kernels (functions with @triton.jit)\n",
            source.name
        ));
    }
    let mut text = String::new();
    for kernel in &kernels {
        text.push_str(&as_text(kernel, &source));
    }
    if !helpers.is_empty() {
        text.push_str("helpers, called by kernels:\n");
        for helper in &helpers {
            text.push_str(&format!("  {}({})\n", helper.name, names(helper)));
        }
    }
    Ok(text)
}

/// A headline, then a line per parameter in columns: name, kind, default, what its declaration adds.
fn as_text(kernel: &KernelInfo, source: &Source) -> String {
    let def = &kernel.def;
    let line = source.line_column(def.ident.span.start as usize).0;
    let mut text = format!("{}::{}  (line {line})", source.name, kernel.name);
    for decorator in decorators(kernel) {
        text.push_str(&format!(" @{decorator}"));
    }
    text.push('\n');
    let rows: Vec<[String; 4]> = kernel.params.iter().map(|param| row(param, source)).collect();
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths = [width(0), width(1), width(2)];
    for [name, kind, default, notes] in &rows {
        let [a, b, c] = widths;
        let row = format!("  {name:a$}  {kind:b$}  {default:c$}  {notes}");
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text.push('\n');
    text
}

fn row(param: &KernelParam, source: &Source) -> [String; 4] {
    let kind = match (param.constexpr, &param.annotation) {
        (true, _) => String::from("tl.constexpr"),
        (false, Some(annotation)) => written(annotation, source).to_string(),
        (false, None) => String::from("run time"),
    };
    let default = match &param.default {
        Some(default) => format!("= {}", written(default, source)),
        None => String::new(),
    };
    let mut notes = Vec::new();
    if param.do_not_specialize {
        notes.push("do_not_specialize");
    }
    if param.do_not_specialize_on_alignment {
        notes.push("do_not_specialize_on_alignment");
    }
    [param.name.to_string(), kind, default, notes.join(", ")]
}

fn as_json(kernel: &KernelInfo, source: &Source) -> Value {
    let params = kernel.params.iter().map(|param| {
        json!({
            "name": &*param.name,
            "constexpr": param.constexpr,
            "annotation": param.annotation.as_ref().map(|a| written(a, source)),
            "default": param.default.as_ref().map(|d| written(d, source)),
            "do_not_specialize": param.do_not_specialize,
            "do_not_specialize_on_alignment": param.do_not_specialize_on_alignment,
        })
    });
    json!({
        "name": &*kernel.name,
        "line": source.line_column(kernel.def.ident.span.start as usize).0,
        "decorators": decorators(kernel),
        "parameters": params.collect::<Vec<_>>(),
    })
}

fn names(kernel: &KernelInfo) -> String {
    let names: Vec<&str> = kernel.params.iter().map(|param| &*param.name).collect();
    names.join(", ")
}

/// Decorators by their dotted names, without arguments.
fn decorators(kernel: &KernelInfo) -> Vec<String> {
    kernel.def.decorators.iter().map(dotted).collect()
}

fn dotted(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Name(name) => name.to_string(),
        ExprKind::Attribute(of, name) => format!("{}.{}", dotted(of), name.name),
        ExprKind::Call(call) => dotted(&call.function),
        _ => String::from("…"),
    }
}

/// An expression as the file spells it; of one that takes several lines, the first.
fn written<'s>(expr: &Expr, source: &'s Source) -> &'s str {
    let text = source.text.get(expr.span.range()).unwrap_or_default();
    text.lines().next().unwrap_or_default()
}
