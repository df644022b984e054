//! Tests of the `tilescope` binary, one per folder of data: run a command, compare what it says.
//!
//! - `tests/cli/NAME/case.toml`: a command line with its exit status, stdout and stderr;
//! - `tests/compile/NAME/`: a kernel of Python source that must be refused, with its message;
//! - `tests/diff/NAME/`: a kernel with a fault that `diff` must find and make small, and its twin that must stay silent;
//! - `tests/fail/ID/NAME/`: a kernel with one fault that must be found, and its twin that must stay silent;
//! - `tests/pass/NAME/` and every built-in example: launches in which nothing may be found.
//! - `tests/sessions/NAME.txt`: transcripts of the debugger;
//! - the debugger's screen on a terminal, which must be left as it was;
//! - the tour of the README, and the workflow of `docs/ci.md`;
//! - the last two kinds again, from Python source and from Triton's TTIR: the same report;
//! - with one thread and with many: the same report to the last bit;
//! - the examples at drawn sizes, where nothing may be found.
//!
//! `BLESS=1` rewrites `stdout.txt` and `stderr.txt` of the first two kinds, and transcripts; the others say by hand what must be.

mod ci;
mod cli;
mod compile;
mod diff;
mod fail;
mod pass;
mod python;
mod readme;
mod same_bits;
mod sessions;
mod signals;
mod silent;
#[cfg(unix)]
mod terminal;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use libtest_mimic::Arguments;

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    trials.extend(ci::trials());
    trials.extend(cli::trials());
    trials.extend(compile::trials());
    trials.extend(diff::trials());
    trials.extend(fail::trials());
    trials.extend(pass::trials());
    trials.extend(python::trials());
    trials.extend(readme::trials());
    trials.extend(same_bits::trials());
    trials.extend(sessions::trials());
    trials.extend(signals::trials());
    trials.extend(silent::trials());
    #[cfg(unix)]
    trials.extend(terminal::trials());
    libtest_mimic::run(&arguments, trials).exit();
}

/// The folder `tests/`.
fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests")
}

/// Folders directly inside `folder`, sorted.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// The command under test, with nothing of the tester's environment that it looks at.
fn tilescope(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tilescope"));
    command
        .current_dir(folder)
        .env_remove("NO_COLOR")
        .env_remove("TILESCOPE_CPU");
    command
}

/// What a command said, as a test's failure shows it.
fn said(output: &Output) -> String {
    format!(
        "exit status {:?}\n--- stdout\n{}--- stderr\n{}",
        output.status.code(),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// An empty folder of its own for one test.
fn scratch(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a temporary folder can be made");
    folder
}
