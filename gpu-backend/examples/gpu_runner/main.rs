//! Runs on a machine with a GPU, without cargo: `cargo xtask gpu` builds it.
//!
//! ```text
//! gpu-runner test  [--shapes N] [--limit SECONDS] --out DIR FOLDER…   every launch file with a .ttir beside it, against the interpreter
//! gpu-runner bench [--limit SECONDS] [--python PYTHON] FOLDER…        times them, over numbers of warps; beside them Triton's code
//! gpu-runner compile ARCH FOLDER…                       no GPU needed: registers, spills, compile times
//! ```
//!
//! `test` keeps a log in DIR and goes on from there: a kernel that does not end costs ten seconds and the process (exit status 99),
//! and the next one goes on after it. Launch files below a folder called `fail` are run in checked builds, and must give the
//! interpreter's findings.
//!
//! NVRTC is looked for in `$TILESCOPE_NVRTC`, else where the system looks. Prints one line per case; ends with 1 if one failed.
#![allow(clippy::print_stdout, reason = "a tool for people")]

mod bench;
#[path = "../../tests/cpu/case.rs"]
mod case;
mod log;
mod record;
mod test;
mod triton;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use case::Case;
use tilescope_gpu_backend::device::Device;
use tilescope_gpu_backend::nvrtc::{Form, Nvrtc};
use tilescope_gpu_backend::{Generated, Image, Options};

/// What the command line says.
struct Arguments {
    command: String,
    architecture: String,
    shapes: usize,
    limit: u64,
    out: Option<PathBuf>,
    python: Option<PathBuf>,
    only: Option<String>,
    folders: Vec<PathBuf>,
}

fn arguments() -> Option<Arguments> {
    let mut words = std::env::args().skip(1);
    let mut parsed = Arguments {
        command: words.next()?,
        architecture: String::new(),
        shapes: 5,
        limit: 3600,
        out: None,
        python: None,
        only: None,
        folders: Vec::new(),
    };
    if parsed.command == "compile" {
        parsed.architecture = words.next()?;
    }
    while let Some(word) = words.next() {
        match word.as_str() {
            "--shapes" => parsed.shapes = words.next()?.parse().ok()?,
            "--limit" => parsed.limit = words.next()?.parse().ok()?,
            "--out" => parsed.out = words.next().map(Into::into),
            "--python" => parsed.python = words.next().map(Into::into),
            "--only" => parsed.only = words.next(),
            _ => parsed.folders.push(word.into()),
        }
    }
    Some(parsed)
}

fn main() -> ExitCode {
    let Some(arguments) = arguments() else {
        println!(
            "usage: gpu-runner test|bench|compile ARCH [--shapes N] [--limit SECONDS] [--out DIR] [--python PYTHON] [--only TEXT] FOLDER…"
        );
        return ExitCode::from(2);
    };
    let folder = std::env::var_os("TILESCOPE_NVRTC").map(PathBuf::from);
    let nvrtc = match Nvrtc::find(folder.as_deref()) {
        Ok(nvrtc) => nvrtc,
        Err(error) => {
            println!("{}", error.message);
            return ExitCode::from(3);
        }
    };
    let mut launches: Vec<PathBuf> = arguments
        .folders
        .iter()
        .flat_map(|folder| files(folder))
        .collect();
    if let Some(only) = &arguments.only {
        launches.retain(|path| path.to_string_lossy().contains(only.as_str()));
    }
    let done = match arguments.command.as_str() {
        "test" => test::run(&arguments, &nvrtc, &launches),
        "bench" => bench::run(&arguments, &nvrtc, &launches),
        _ => compile_all(&arguments, &nvrtc, &launches),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(why) => {
            println!("{why}");
            ExitCode::from(3)
        }
    }
}

/// Launch files below a folder that have a TTIR text.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![folder.to_path_buf()];
    while let Some(folder) = todo.pop() {
        for path in std::fs::read_dir(&folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
        {
            if path.is_dir() {
                todo.push(path);
            } else if path.to_string_lossy().ends_with(".launch.toml") && case::ttir_of(&path).exists() {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A launch file's name without its ending.
fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .replace(".launch.toml", "")
}

/// Does things on all cores, in any order; results come in order.
fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let results = std::sync::Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    let result = work(item);
                    results
                        .lock()
                        .unwrap_or_else(|e| e.into_inner())
                        .push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(|e| e.into_inner());
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// A case, generated and compiled.
struct Built {
    case: Case,
    generated: Generated,
    image: Image,
    seconds: f64,
}

/// Why a case did not get to its end.
#[derive(Debug)]
enum Trouble {
    /// No code is generated for it.
    Refused(String),
    /// The kernel did not end: the device is lost to this process.
    Hung,
    /// Anything else.
    Wrong(String),
}

/// What a kernel may take.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// Waits for what was started on a device.
fn finish(device: &Device) -> Result<(), Trouble> {
    let started = Instant::now();
    while !device.is_finished().map_err(|e| Trouble::Wrong(text(e)))? {
        if started.elapsed() > PATIENCE {
            return Err(Trouble::Hung);
        }
        std::thread::yield_now();
    }
    Ok(())
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Trouble::Refused(why) | Trouble::Wrong(why) => f.write_str(why),
            Trouble::Hung => f.write_str("the kernel does not end"),
        }
    }
}

/// An error in one line.
#[allow(clippy::boxed_local, reason = "errors travel boxed")]
fn text(error: Box<tilescope_diagnostics::Error>) -> String {
    std::iter::once(&error.message)
        .chain(&error.notes)
        .cloned()
        .collect::<Vec<String>>()
        .join(" ")
}

fn build(
    nvrtc: &Nvrtc,
    architecture: &str,
    path: &Path,
    vars: &[(String, i64)],
    options: Options,
) -> Result<Built, Trouble> {
    let case = Case::open(path, vars).map_err(|e| Trouble::Wrong(e.message().unwrap_or("?").to_string()))?;
    let started = Instant::now();
    let generated = case.generate(options).map_err(Trouble::Refused)?;
    let image = nvrtc
        .compile(&generated, architecture, Form::Cubin)
        .map_err(|e| Trouble::Wrong(text(e)))?;
    let seconds = started.elapsed().as_secs_f64();
    Ok(Built {
        case,
        generated,
        image,
        seconds,
    })
}

fn compile_all(arguments: &Arguments, nvrtc: &Nvrtc, launches: &[PathBuf]) -> Result<bool, String> {
    let mut all = true;
    for path in launches {
        match build(nvrtc, &arguments.architecture, path, &[], Options::default()) {
            Ok(built) => {
                let r = built.image.resources;
                println!(
                    "{:32} {:3} registers, stack {:4}, spills {:4}/{:4} bytes, shared {:6}, {:4} threads, {:5.2} s",
                    name_of(path),
                    r.registers,
                    r.stack,
                    r.spill_stores,
                    r.spill_loads,
                    built.generated.shared_bytes,
                    built.generated.threads,
                    built.seconds
                );
                if let Some(out) = &arguments.out {
                    let _ = std::fs::create_dir_all(out);
                    let _ =
                        std::fs::write(out.join(format!("{}.cu", name_of(path))), &built.generated.source);
                }
                all &= r.stack == 0;
            }
            Err(why) => {
                all = false;
                println!("{:32} FAILED: {why}", name_of(path));
            }
        }
    }
    Ok(all)
}
