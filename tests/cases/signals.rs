//! What a terminal or a pipe may do to a command in the middle of its work.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use libtest_mimic::{Failed, Trial};

use crate::{data, said, tilescope};

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![
        Trial::test("signals/closed_pipe", closed_pipe),
        Trial::test("signals/closed_pipe_of_a_report", closed_pipe_of_a_report),
    ];
    if cfg!(unix) {
        trials.push(Trial::test("signals/interrupt", interrupt));
    }
    trials
}

/// `tilescope explain … | head -0`: the reader of a page is gone, and misses nothing.
fn closed_pipe() -> Result<(), Failed> {
    let output = unread(&data(), &["explain", "oob-store"])?;
    if output.status.code() != Some(0) || !output.stderr.is_empty() {
        return Err(said(&output).into());
    }
    Ok(())
}

/// A report whose reader is gone: that is said, and the findings are not lost.
fn closed_pipe_of_a_report() -> Result<(), Failed> {
    let folder = data().join("fail/oob-store/missing_mask");
    for command in ["check", "diff"] {
        for format in ["text", "json", "sarif", "junit", "github"] {
            let mut arguments = vec![command, "fault.launch.toml", "--format", format];
            if command == "diff" {
                arguments.push("--no-write");
            }
            let output = unread(&folder, &arguments)?;
            let told = String::from_utf8_lossy(&output.stderr);
            let is_told = told.contains("its reader has closed it") && told.contains("error[oob-store]");
            if output.status.code() != Some(2) || !is_told {
                return Err(format!("{command} --format {format}\n{}", said(&output)).into());
            }
        }
    }
    Ok(())
}

/// What a command does whose reader is gone before anything is written.
fn unread(folder: &Path, arguments: &[&str]) -> std::io::Result<Output> {
    let mut command = tilescope(folder);
    let piped = command
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = piped.spawn()?;
    drop(child.stdout.take());
    child.wait_with_output()
}

/// Ctrl-C in a kernel that never ends: what was found so far is reported, with a status of its own.
fn interrupt() -> Result<(), Failed> {
    // A busy machine may not have started the run, nor even the handler, after the shorter times.
    let mut last = String::new();
    for milliseconds in [300, 1000, 3000, 9000] {
        let (status, stdout) = interrupted_after(Duration::from_millis(milliseconds))?;
        if status == Some(130) && stdout.contains("interrupted; so far ok") {
            return Ok(());
        }
        last = format!("exit status {status:?}\n{stdout}");
    }
    Err(last.into())
}

fn interrupted_after(time: Duration) -> Result<(Option<i32>, String), Failed> {
    let mut command = tilescope(&data().join("cases/endless"));
    command.args(["check", "endless.launch.toml", "--max-steps", "1000000000000000"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    sleep(time);
    Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()?;
    let status = child.wait()?;
    let mut stdout = String::new();
    if let Some(mut out) = child.stdout.take() {
        out.read_to_string(&mut stdout)?;
    }
    Ok((status.code(), stdout))
}
