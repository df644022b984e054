//! Reads every `.ttir` below the given folders, prints it, reads that again and compares.
//!
//! `cargo run --release -p tilescope-ir --example corpus -- FOLDER… [--out FOLDER]`
//!
//! Prints how many files pass each step and the first line of what stopped the others. With `--out`,
//! the printed texts are written there under the same relative names, for the real Triton to read.
#![allow(clippy::print_stdout, reason = "a tool for people")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tilescope_diagnostics::Source;
use tilescope_ir::text;

const STEPS: [&str; 5] = [
    "read",
    "verified",
    "printed and read again",
    "the same after it",
    "written",
];

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        let mut entries: Vec<_> = entries.map(|e| e.path()).collect();
        entries.sort();
        entries.iter().for_each(|e| collect(e, files));
    } else if path.extension().is_some_and(|e| e == "ttir") {
        files.push(path.to_path_buf());
    }
}

/// How far a file gets, and what stopped it.
fn check(file: &Path, out: Option<&Path>, reading: &mut (Duration, usize)) -> (usize, Option<String>) {
    let content = match std::fs::read_to_string(file) {
        Ok(content) => content,
        Err(error) => return (0, Some(error.to_string())),
    };
    let source = Source::new(file.display().to_string(), content);
    let start = Instant::now();
    let module = match text::parse(&source) {
        Ok(module) => module,
        Err(error) => return (0, Some(error.to_string())),
    };
    reading.0 += start.elapsed();
    reading.1 += source.text.len();
    if let Err(errors) = tilescope_ir::verify(&module) {
        return (1, errors.first().map(ToString::to_string));
    }
    let printed = Source::new(format!("{} printed", file.display()), text::print(&module));
    let again = match text::parse(&printed) {
        Ok(again) => again,
        Err(error) => return (2, Some(error.to_string())),
    };
    if let Err(difference) = text::same(&module, &again) {
        return (3, Some(difference));
    }
    let Some(out) = out else { return (4, None) };
    let target = out.join(file.strip_prefix("/").unwrap_or(file));
    let folder = target.parent().map_or(Ok(()), std::fs::create_dir_all);
    match folder.and_then(|()| std::fs::write(&target, &printed.text)) {
        Ok(()) => (5, None),
        Err(error) => (4, Some(error.to_string())),
    }
}

fn main() {
    let (mut files, mut out) = (Vec::new(), None);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--out" => out = args.next().map(PathBuf::from),
            _ => collect(Path::new(&arg), &mut files),
        }
    }
    let mut passed = [0usize; STEPS.len()];
    let mut reading = (Duration::ZERO, 0);
    for file in &files {
        let (steps, problem) = check(file, out.as_deref(), &mut reading);
        passed.iter_mut().take(steps).for_each(|count| *count += 1);
        if let Some(problem) = problem {
            println!("{}: {problem}", file.display());
        }
    }
    println!("{} files", files.len());
    for (step, count) in STEPS.iter().zip(passed) {
        println!("{count} {step}");
    }
    println!("{} bytes read in {:.3} s", reading.1, reading.0.as_secs_f64());
}
