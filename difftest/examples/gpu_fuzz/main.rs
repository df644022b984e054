//! Random kernels and drawn cases on a machine with a GPU, without cargo: `cargo xtask gpu` builds it.
//!
//! ```text
//! gpu-fuzz kernels --out DIR [--seed S] [--limit SECONDS] [--kept FOLDER] [--triton PYTHON]
//!                                                                    generated kernels, those of FOLDER first
//! gpu-fuzz record  --out DIR [--cases N] [--limit SECONDS] FOLDER           drawn cases of the launch files of FOLDER, and their outputs
//! ```
//!
//! Each kernel runs in a checked build with its launch's number of warps and, without checks, with another. It must leave the
//! interpreter's bits, or stay within the bounds of the float64 twin. With a Python that has Triton, so must Triton's own code for it
//! (what Triton does not compile is counted). `kernels` keeps a log in DIR and goes on behind its last seed: a
//! kernel that does not end, or that the driver stops, costs the process (exit status 99, after a line `HUNG`). The files of kernels
//! on which the GPU disagrees lie in DIR. `record` writes DIR/drawn.jsonl, which belongs to `tests/gpu/drawn/`.
//!
//! NVRTC is looked for in `$TILESCOPE_NVRTC`, else where the system looks. Ends with 1 if something disagrees, with 3 without a GPU.
#![allow(clippy::print_stdout, reason = "a tool for people")]

#[path = "../fuzz/judge.rs"]
mod judge;
mod kernels;
#[path = "../../tests/drawn/opened.rs"]
mod opened;
#[path = "../fuzz/paths.rs"]
#[allow(dead_code, reason = "some of it is for the CPU")]
mod paths;
mod record;
mod triton;
#[path = "../fuzz/twin.rs"]
#[allow(dead_code, reason = "some of it is for the CPU")]
mod twin;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tilescope_diagnostics::Error;
use tilescope_gpu_backend::device::Device;
use tilescope_gpu_backend::nvrtc::{Form, Nvrtc};
use tilescope_gpu_backend::session::{Code, Ended, Session, Wait};
use tilescope_gpu_backend::{Generated, Image};
use tilescope_launch::{Launch, Memory};

/// The process is to be started again: a kernel did not end.
const AGAIN: u8 = 99;

/// What a kernel may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the command line says.
struct Arguments {
    command: String,
    seed: u64,
    limit: u64,
    cases: u32,
    out: PathBuf,
    kept: Option<PathBuf>,
    triton: Option<PathBuf>,
    folders: Vec<PathBuf>,
}

fn arguments() -> Option<Arguments> {
    let mut words = std::env::args().skip(1);
    let mut parsed = Arguments {
        command: words.next()?,
        seed: 0,
        limit: 60,
        cases: 8,
        out: PathBuf::from("."),
        kept: None,
        triton: None,
        folders: Vec::new(),
    };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seed" => parsed.seed = words.next()?.parse().ok()?,
            "--limit" => parsed.limit = words.next()?.parse().ok()?,
            "--cases" => parsed.cases = words.next()?.parse().ok()?,
            "--out" => parsed.out = words.next()?.into(),
            "--triton" => parsed.triton = words.next().map(Into::into),
            "--kept" => parsed.kept = words.next().map(Into::into),
            _ => parsed.folders.push(word.into()),
        }
    }
    Some(parsed)
}

/// How a command ended.
enum Done {
    Agrees,
    Disagrees,
    /// The device is lost to this process.
    Lost,
}

fn main() -> ExitCode {
    let Some(arguments) = arguments().filter(|a| ["kernels", "record"].contains(&a.command.as_str())) else {
        println!(
            "usage: gpu-fuzz kernels|record --out DIR [--seed S] [--limit SECONDS] [--kept FOLDER] [--triton PYTHON] [--cases N] [FOLDER…]"
        );
        return ExitCode::from(2);
    };
    let done = open().and_then(|gpu| match arguments.command.as_str() {
        "kernels" => kernels::run(&arguments, gpu),
        _ => record::run(&arguments, gpu),
    });
    match done {
        Ok(Done::Agrees) => ExitCode::SUCCESS,
        Ok(Done::Disagrees) => ExitCode::from(1),
        Ok(Done::Lost) => ExitCode::from(AGAIN),
        Err(why) => {
            println!("{why}");
            ExitCode::from(3)
        }
    }
}

/// The device and its compiler.
struct Gpu {
    nvrtc: Nvrtc,
    session: Session,
}

fn open() -> Result<Gpu, String> {
    let folder = std::env::var_os("TILESCOPE_NVRTC").map(PathBuf::from);
    let nvrtc = Nvrtc::find(folder.as_deref()).map_err(text)?;
    let device = Device::open(0).map_err(text)?;
    println!(
        "{}, driver {}, NVRTC {:?}, {}",
        device.name(),
        device.driver(),
        nvrtc.version(),
        device.architecture()
    );
    Ok(Gpu {
        nvrtc,
        session: Session::new(device),
    })
}

impl Gpu {
    /// Runs a launch; `image` is its code where that was compiled before.
    fn run(
        &mut self,
        generated: &Generated,
        image: Option<Image>,
        launch: &Launch,
        memory: &mut Memory,
    ) -> Result<Ended, Box<Error>> {
        let nvrtc = self.nvrtc;
        let mut compile = |architecture: &str| nvrtc.compile(generated, architecture, Form::Cubin);
        let code = match &image {
            Some(image) => Code::Compiled(image),
            None => Code::Source(&mut compile),
        };
        let mut began = None;
        let mut wait = || {
            let waited = began.get_or_insert_with(Instant::now).elapsed();
            std::thread::yield_now();
            if waited > PATIENCE {
                Wait::TooLong
            } else {
                Wait::On
            }
        };
        self.session.run(generated, code, launch, memory, &mut wait)
    }
}

/// An error in one line.
#[allow(clippy::boxed_local, reason = "errors travel boxed")]
fn text(error: Box<Error>) -> String {
    let all = std::iter::once(&error.message).chain(&error.notes);
    all.cloned().collect::<Vec<String>>().join(" ")
}
