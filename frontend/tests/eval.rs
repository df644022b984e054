//! Small kernels with the IR, or the errors, that come of them: `tests/eval/NAME.py` and `NAME.ttir` or `NAME.err`.
//!
//! The first line of a file says what is compiled: `# kernel(x_ptr=*fp32:16, n=i32, BLOCK=64)`, where `:16` is a
//! multiple of 16 and a constant needs no type. `BLESS=1` rewrites what is expected.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tilescope_diagnostics::Source;
use tilescope_diagnostics::render::{Paint, text::error as render};
use tilescope_frontend::request::{ArgSpec, Request, Specialized, compile};
use tilescope_frontend::source::{Files, Program};
use tilescope_frontend::types::{Dtype, Elem, PtrTy};
use tilescope_frontend::value::Value;
use tilescope_ir::{VerifiedModule, text};

#[derive(Debug)]
struct Folder(PathBuf);

impl Files for Folder {
    fn read(&self, path: &str) -> Result<Option<Arc<Source>>, String> {
        match std::fs::read_to_string(self.0.join(path)) {
            Ok(text) => Ok(Some(Source::new(path, text))),
            Err(_) => Ok(None),
        }
    }
}

fn dtype(name: &str) -> Dtype {
    let long = match name.as_bytes() {
        [b'i', rest @ ..] => format!("int{}", String::from_utf8_lossy(rest)),
        [b'u', rest @ ..] => format!("uint{}", String::from_utf8_lossy(rest)),
        _ => name.to_string(),
    };
    let found = Dtype::ALL.into_iter().find(|d| d.name() == long);
    found.unwrap_or_else(|| panic!("no type `{name}`"))
}

fn spec(text: &str) -> ArgSpec {
    let (text, divisible) = match text.strip_suffix(":16") {
        Some(text) => (text, true),
        None => (text, false),
    };
    if let Some(to) = text.strip_prefix('*') {
        let elem = Elem::Ptr(PtrTy {
            to: dtype(to),
            levels: 1,
            is_const: false,
        });
        return ArgSpec::Scalar(
            elem,
            Specialized {
                divisible_by_16: divisible,
            },
        );
    }
    if let Ok(int) = text.parse::<i64>() {
        return ArgSpec::Constant(Value::int(int));
    }
    if let Ok(float) = text.parse::<f64>() {
        return ArgSpec::Constant(Value::Float(float));
    }
    match text {
        "True" => ArgSpec::Constant(Value::Bool(true)),
        "False" => ArgSpec::Constant(Value::Bool(false)),
        "None" => ArgSpec::Constant(Value::None),
        text if text.starts_with('\'') => ArgSpec::Constant(Value::str(text.trim_matches('\''))),
        text => ArgSpec::Scalar(
            Elem::Num(dtype(text)),
            Specialized {
                divisible_by_16: divisible,
            },
        ),
    }
}

fn request(head: &str) -> Request {
    let head = head.trim_start_matches('#').trim();
    let (kernel, rest) = head.split_once('(').expect("the first line: `# kernel(args)`");
    let args = rest
        .trim_end_matches(')')
        .split(',')
        .map(str::trim)
        .filter(|a| !a.is_empty());
    Request {
        kernel: kernel.to_string(),
        args: args
            .map(|arg| {
                let (name, value) = arg.split_once('=').expect("`name=type`");
                (name.to_string(), spec(value))
            })
            .collect(),
        host: Vec::new(),
        capability: 90,
        num_warps: None,
        num_stages: None,
    }
}

/// The extension of what is expected, and the text.
fn outcome(path: &Path) -> (&'static str, String) {
    let name = path.file_name().and_then(|n| n.to_str()).expect("a name");
    let files = Folder(path.parent().expect("a folder").to_path_buf());
    let text = std::fs::read_to_string(path).expect("a file");
    let program = Program::new(&files, Vec::new());
    let module = match program.load(name) {
        Ok(module) => module,
        Err(error) => return ("err", render(&error, Paint::Plain)),
    };
    match compile(
        &program,
        module,
        &request(text.lines().next().unwrap_or_default()),
    ) {
        Ok(compiled) => {
            let mut printed = String::new();
            for note in &compiled.notes {
                printed.push_str(&format!("// note: {note}\n"));
            }
            printed.push_str(&text::print(&compiled.module));
            if let Err(errors) = VerifiedModule::new(compiled.module) {
                panic!("{name}: {}\n{printed}", errors[0]);
            }
            ("ttir", printed)
        }
        Err(errors) => {
            let all: Vec<String> = errors.iter().map(|e| render(e, Paint::Plain)).collect();
            ("err", all.join("\n"))
        }
    }
}

#[test]
fn kernels_compile_to_the_ir_and_the_errors_that_are_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/eval");
    let only = std::env::var("ONLY").unwrap_or_default();
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "py"))
        .filter(|path| path.to_string_lossy().contains(&only))
        .filter(|path| std::fs::read_to_string(path).is_ok_and(|t| t.starts_with("# ")))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    let mut wrong = Vec::new();
    for path in files {
        let (extension, text) = outcome(&path);
        let golden = path.with_extension(extension);
        let other = path.with_extension(if extension == "err" { "ttir" } else { "err" });
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&golden, &text).expect("written");
            let _ = std::fs::remove_file(other);
        } else if other.exists() || std::fs::read_to_string(&golden).ok().as_deref() != Some(&text) {
            wrong.push(format!("{}:\n{text}", golden.display()));
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\n`BLESS=1` accepts what is made",
        wrong.join("\n")
    );
}
