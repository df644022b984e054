//! Compiles every jitted function of every Python file below the given folders with guessed arguments.
//!
//! `cargo run --release -p tilescope-frontend --example sweep -- FOLDER… [--jobs N] [--all]`
//!
//! Most guesses are refused, and should be: what is looked for is a panic, or a compilation that takes too long. With
//! `--all`, functions that are not jitted are tried as well.
#![allow(clippy::print_stdout, reason = "a tool for people")]

#[path = "coverage/guess.rs"]
mod guess;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tilescope_diagnostics::Source;
use tilescope_frontend::request::compile;
use tilescope_frontend::source::{Files, Program};

/// Tries of each function.
const VARIANTS: usize = 3;

/// The files of this machine; what is not UTF-8 is read as well as it can be.
#[derive(Debug)]
struct Disk;

impl Files for Disk {
    fn read(&self, path: &str) -> Result<Option<Arc<Source>>, String> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(Some(Source::new(path, String::from_utf8_lossy(&bytes)))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        let mut entries: Vec<_> = entries.map(|e| e.path()).collect();
        entries.sort();
        entries.iter().for_each(|e| collect(e, files));
    } else if path.extension().is_some_and(|e| e == "py") {
        files.push(path.to_path_buf());
    }
}

/// The folder above the outermost package that a file is in.
fn root(file: &Path) -> String {
    let mut folder = file.parent().unwrap_or(file);
    while folder.join("__init__.py").exists() {
        folder = folder.parent().unwrap_or(Path::new("/"));
    }
    folder.display().to_string()
}

#[derive(Default)]
struct Counts {
    compiled: AtomicUsize,
    refused: AtomicUsize,
    panicked: AtomicUsize,
    slow: Mutex<Vec<(Duration, String)>>,
}

fn check(file: &Path, all: bool, counts: &Counts) {
    let Ok(bytes) = std::fs::read(file) else { return };
    let text = String::from_utf8_lossy(&bytes);
    let functions = guess::functions(&text);
    for function in functions.iter().filter(|f| all || f.jit) {
        for variant in 0..VARIANTS {
            let start = Instant::now();
            let attempt = catch_unwind(AssertUnwindSafe(|| {
                let program = Program::new(&Disk, vec![root(file)]);
                let module = program.load(&file.display().to_string()).map_err(|e| vec![e])?;
                let compiled = compile(&program, module, &function.request(variant))?;
                tilescope_ir::verify(&compiled.module)
                    .map(|_| ())
                    .map_err(|_| Vec::new())
            }));
            let name = format!("{}::{} (variant {variant})", file.display(), function.name);
            match attempt {
                Ok(Ok(())) => &counts.compiled,
                Ok(Err(errors)) => {
                    if errors.is_empty() {
                        println!("VERIFIER {name}");
                    }
                    &counts.refused
                }
                Err(payload) => {
                    let text = payload.downcast_ref::<String>().cloned();
                    let text = text.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string));
                    println!("PANIC {name}: {}", text.unwrap_or_default());
                    &counts.panicked
                }
            }
            .fetch_add(1, Ordering::Relaxed);
            if let Ok(mut slow) = counts.slow.lock() {
                slow.push((start.elapsed(), name));
                slow.sort_by_key(|(elapsed, _)| std::cmp::Reverse(*elapsed));
                slow.truncate(5);
            }
        }
    }
}

fn main() {
    let (mut files, mut jobs, mut all) = (Vec::new(), 1, false);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match &word[..] {
            "--jobs" => jobs = words.next().and_then(|n| n.parse().ok()).unwrap_or(1),
            "--all" => all = true,
            folder => collect(Path::new(folder), &mut files),
        }
    }
    std::panic::set_hook(Box::new(|_| ()));
    let (next, counts) = (AtomicUsize::new(0), Counts::default());
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let work = || {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    check(file, all, &counts);
                }
            };
            let thread = std::thread::Builder::new().stack_size(8 << 20);
            let _ = thread.spawn_scoped(scope, work);
        }
    });
    let count = |n: &AtomicUsize| n.load(Ordering::Relaxed);
    println!(
        "{} files: {} compiled, {} refused, {} panics",
        files.len(),
        count(&counts.compiled),
        count(&counts.refused),
        count(&counts.panicked)
    );
    for (elapsed, name) in counts.slow.into_inner().unwrap_or_default() {
        println!("{:9.2} ms {name}", elapsed.as_secs_f64() * 1e3);
    }
}
