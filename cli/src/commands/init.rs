//! `tilescope init FILE.py::KERNEL`: a launch file to fill in, guessed from the kernel's text.

use std::fmt::Write;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use tilescope_diagnostics::{Error, closest};
use tilescope_frontend::outline::{self, Guess, GuessedValue, LaunchGuess};
use tilescope_frontend::source::{KernelInfo, ModuleId, Program};

use crate::args::Init;
use crate::files;
use crate::status::Status;
use crate::terminal::Terminal;

/// Writes the launch file, never over another.
pub fn run(args: &Init, terminal: &Terminal) -> Result<Status> {
    match init(args) {
        Ok(said) => {
            terminal.page(&said)?;
            Ok(Status::Clean)
        }
        Err(error) => {
            terminal.error(&error);
            Ok(Status::of(&error))
        }
    }
}

fn init(args: &Init) -> Result<String, Box<Error>> {
    let (path, name) = match args.kernel.rsplit_once("::") {
        Some((path, name)) => (Path::new(path), Some(name)),
        None => (Path::new(&args.kernel), None),
    };
    let (files, file) = files::open_python(path)?;
    let program = Program::new(&files, Vec::new());
    let module = program.load(&file)?;
    let kernel = find(&program, module, path, name)?;
    let name = &*kernel.name;
    let guess = outline::guess(&program, &kernel);
    let to_stdout = args.out.as_deref() == Some(Path::new("-"));
    let out = match &args.out {
        Some(out) => out.clone(),
        None => path.with_file_name(format!("{name}.launch.toml")),
    };
    let from = match to_stdout {
        true => path.to_path_buf(),
        false => from_beside(path, &out),
    };
    let text = launch_file(&format!("{}::{name}", from.display()), &guess);
    if to_stdout {
        return Ok(text);
    }
    let created = std::fs::File::create_new(&out).and_then(|mut file| file.write_all(text.as_bytes()));
    match created {
        Ok(()) => {
            let out = out.display();
            Ok(format!(
                "wrote {out}: correct what it guesses, then run `tilescope check {out}`\n"
            ))
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(Error::input(format!("`{}` exists already", out.display()))
                .help("name another file with -o, or `-o -` for stdout"))
        }
        Err(error) => Err(Error::input(format!("cannot write `{}`: {error}", out.display()))),
    }
}

fn find(
    program: &Program<'_>,
    module: ModuleId,
    path: &Path,
    name: Option<&str>,
) -> Result<KernelInfo, Box<Error>> {
    let shown = path.display();
    let helpers = outline::helpers(program, module);
    let kernels = program.kernels(module);
    let is_helper = |kernel: &&KernelInfo| helpers.contains(&kernel.name);
    let (inner, outer): (Vec<&KernelInfo>, Vec<&KernelInfo>) = kernels.iter().partition(is_helper);
    // Those that other kernels call come last.
    let names: Vec<&str> = outer.iter().chain(&inner).map(|k| &*k.name).collect();
    let found = match name {
        Some(name) => program.kernel(module, name),
        None => {
            let mut alone = kernels.iter().filter(|k| !helpers.contains(&k.name));
            alone.next().filter(|_| alone.next().is_none()).cloned()
        }
    };
    if let Some(kernel) = found {
        return Ok(kernel);
    }
    let error = match name {
        _ if kernels.is_empty() => {
            return Err(Error::input(format!("`{shown}` has no kernel"))
                .help("a kernel is a function with `@triton.jit`"));
        }
        Some(name) => Error::input(format!("`{shown}` has no kernel `{name}`")),
        None => Error::input(format!("`{shown}` has several kernels")),
    };
    let near = name.and_then(|name| closest(name, names.iter().copied()));
    Err(match near {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => {
            let names = if outer.is_empty() {
                &names[..]
            } else {
                &names[..outer.len()]
            };
            error.help(format!("write {shown}::NAME with one of {}", names.join(", ")))
        }
    })
}

/// A path as seen from the folder of another.
fn from_beside(path: &Path, other: &Path) -> PathBuf {
    let folder = |path: &Path| {
        std::path::absolute(path)
            .ok()
            .and_then(|p| p.parent().map(Path::to_path_buf))
    };
    let (Some(of), Some(from), Some(name)) = (folder(path), folder(other), path.file_name()) else {
        return path.to_path_buf();
    };
    let shared = of
        .components()
        .zip(from.components())
        .take_while(|(a, b)| a == b)
        .count();
    let mut way: PathBuf = from.components().skip(shared).map(|_| "..").collect();
    way.extend(of.components().skip(shared));
    way.push(name);
    way
}

/// The text of the launch file.
fn launch_file(kernel: &str, guess: &LaunchGuess) -> String {
    let mut text = String::from(
        "# Written by `tilescope init`, guessed from the kernel's text. The comments say why; correct what is wrong.\n\n",
    );
    let grid: Vec<String> = guess.grid.iter().map(|size| value(size)).collect();
    let _ = writeln!(text, "kernel = {}", quoted(kernel));
    let _ = writeln!(text, "# {}", guess.grid_why);
    let _ = writeln!(text, "grid = [{}]", grid.join(", "));
    section(
        &mut text,
        "vars",
        "sizes; `tilescope diff` draws from the ranges",
        &guess.vars,
    );
    section(
        &mut text,
        "args",
        "what the kernel is given when it runs",
        &guess.args,
    );
    section(
        &mut text,
        "tensors",
        "what the descriptors describe",
        &guess.tensors,
    );
    section(
        &mut text,
        "constexprs",
        "what it is compiled for",
        &guess.constexprs,
    );
    let out = guess
        .args
        .iter()
        .chain(&guess.tensors)
        .find(|arg| matches!(&arg.value, GuessedValue::Tensor { role, .. } if *role == "out"));
    let out = out.map_or(String::from("OUTPUT"), |arg| key(&arg.name));
    let _ = write!(
        text,
        "\n# What outputs must be, by NumPy's rules:\n# [expect]\n# {out} = {{ formula = \"…\" }}\n"
    );
    text
}

fn section(text: &mut String, name: &str, what: &str, entries: &[Guess]) {
    if entries.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n[{name}]  # {what}");
    let lines: Vec<(String, &str)> = entries
        .iter()
        .map(|entry| (line(entry), entry.why.as_str()))
        .collect();
    // Comments stand in a column, unless a line is very long.
    let width = lines
        .iter()
        .map(|(line, _)| line.chars().count())
        .filter(|w| *w <= 80)
        .max()
        .unwrap_or(0);
    for (line, why) in lines {
        match why.is_empty() {
            true => drop(writeln!(text, "{line}")),
            false => drop(writeln!(text, "{line:width$}  # {why}")),
        }
    }
}

fn line(entry: &Guess) -> String {
    let name = key(&entry.name);
    match &entry.value {
        GuessedValue::Expression(expression) => format!("{name} = {}", value(expression)),
        GuessedValue::Size(size, (low, high)) => {
            format!("{name} = {{ value = {size}, range = [{low}, {high}] }}")
        }
        GuessedValue::Left(default) => format!("# {name} = {}", value(default)),
        GuessedValue::Descriptor { of, block } => {
            format!(
                "{name} = {{ descriptor_of = {}, block_shape = {block:?} }}",
                quoted(of)
            )
        }
        GuessedValue::Tensor {
            dtype,
            shape,
            role,
            fill,
        } => {
            let shape: Vec<String> = shape.iter().map(|size| value(size)).collect();
            let fill = fill
                .map(|fill| format!(", fill = \"{fill}\""))
                .unwrap_or_default();
            format!(
                "{name} = {{ dtype = \"{dtype}\", shape = [{}]{fill}, role = \"{role}\" }}",
                shape.join(", ")
            )
        }
    }
}

/// A number as it is, any other expression as a string.
fn value(expression: &str) -> String {
    let digits = |text: &str| {
        text.trim_start_matches('-')
            .starts_with(|c: char| c.is_ascii_digit())
    };
    let is_number = digits(expression) && expression.parse::<f64>().is_ok();
    let is_plain = is_number || matches!(expression, "true" | "false");
    match is_plain {
        true => expression.to_string(),
        false => quoted(expression),
    }
}

/// A TOML key: Python's names may have letters that must be quoted there.
fn key(name: &str) -> String {
    match name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric()) {
        true => name.to_string(),
        false => quoted(name),
    }
}

/// A TOML string; file names may hold anything.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => drop(write!(quoted, "\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
