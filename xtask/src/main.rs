//! Tasks for developers: `cargo xtask ci | bless | tidy | ops | language | screens | keys | bench | fuzz | mutants | gpu`.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod gpu;
mod language;
mod mutants;
mod nvrtc;
mod ops;
mod screens;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

const USAGE: &str = "\
usage: cargo xtask TASK

  ci        what must pass before a change lands: format, lints, documentation, all tests
  bless     rewrite the golden files with what the code gives now (read the difference before committing)
  tidy      the rules of ARCHITECTURE.md and the style that no other tool checks
  ops       rewrite docs/ops.md from the op table
  language  rewrite docs/language.md from the tables of the front end
  screens   draw the pictures of the debugger in docs/screens
  keys      press keys in the debugger on every example, and say how long each took
  bench     time the interpreter beside Triton's own and PyTorch: [--python PATH] [--write] [--plot] [NAME...], see
            docs/benchmarks.md
  fuzz      make random kernels and run them by all paths: --minutes M [--seed S] [--shard I/N] [--out DIR] |
            --replay FILE.launch.toml | --merge A.json B.json ...; exit status 1 where paths disagree
  mutants   plant faults in the examples and count those that are found: [--binary FILE] [--cases N] [--seed S]
            [--write] [NAME...], see docs/mutation-score.md
  gpu       build the folder that tests and times the GPU backend on a machine with a GPU: [--dev]";

fn main() -> ExitCode {
    let task = std::env::args().nth(1).unwrap_or_default();
    let result = match task.as_str() {
        "ci" => ci(),
        "bless" => bless(),
        "tidy" => tidy(),
        "ops" => ops::write(&root()),
        "language" => language::write(&root()),
        "screens" => screens::draw(&root()),
        "keys" => screens::time(&root()),
        "bench" => bench::run(&root(), &std::env::args().skip(2).collect::<Vec<_>>()),
        "fuzz" => return fuzz(),
        "mutants" => mutants::run(&root(), &std::env::args().skip(2).collect::<Vec<_>>()),
        "gpu" => gpu::run(&root(), &std::env::args().skip(2).collect::<Vec<_>>()),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The workspace: the folder above this crate.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

fn ci() -> Result<()> {
    cargo(&["fmt", "--all", "--check"], &[])?;
    cargo(
        &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
        &[],
    )?;
    cargo(
        &["doc", "--workspace", "--no-deps", "--document-private-items"],
        &[("RUSTDOCFLAGS", "-D warnings")],
    )?;
    let nvrtc = nvrtc::folder(&target());
    let nvrtc = nvrtc.as_ref().map(|folder| folder.to_string_lossy());
    let env: Vec<(&str, &str)> = nvrtc
        .iter()
        .map(|folder| ("TILESCOPE_NVRTC", &**folder))
        .collect();
    cargo(&["test", "--workspace"], &env)
}

/// The folder of builds.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

fn bless() -> Result<()> {
    cargo(&["test", "--workspace"], &[("BLESS", "1")])?;
    ops::write(&root())?;
    language::write(&root())
}

/// Runs the fuzzer, which is built apart: it is the only task that needs the engines. Its exit status is this one's.
fn fuzz() -> ExitCode {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let ran = Command::new(cargo)
        .args([
            "run",
            "--quiet",
            "--profile",
            "quick",
            "--package",
            "tilescope-difftest",
            "--example",
            "fuzz",
            "--",
        ])
        .args(std::env::args_os().skip(2))
        .status();
    match ran {
        Ok(status) => ExitCode::from(
            status
                .code()
                .and_then(|code| u8::try_from(code).ok())
                .unwrap_or(2),
        ),
        Err(error) => {
            eprintln!("error: cannot start cargo: {error}");
            ExitCode::from(2)
        }
    }
}

fn tidy() -> Result<()> {
    let found = tidy::check(&root())?;
    for line in &found {
        println!("{line}");
    }
    match found.len() {
        0 => Ok(()),
        n => bail!("{n} places are untidy"),
    }
}

/// Runs cargo in the workspace, with the user's own streams.
fn cargo(args: &[&str], env: &[(&str, &str)]) -> Result<()> {
    println!("$ cargo {}", args.join(" "));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(args)
        .envs(env.iter().copied())
        .current_dir(root())
        .status()
        .context("cannot start cargo")?;
    if !status.success() {
        bail!("cargo {} failed", args[0]);
    }
    Ok(())
}
