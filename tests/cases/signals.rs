//! What a terminal or a pipe may do to a command in the middle of its work.

use std::io::Read;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use libtest_mimic::{Failed, Trial};

use crate::{data, said, tilescope};

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![Trial::test("signals/closed_pipe", closed_pipe)];
    if cfg!(unix) {
        trials.push(Trial::test("signals/interrupt", interrupt));
    }
    trials
}

/// `tilescope check … | head -0`: the reader is gone before anything is written.
fn closed_pipe() -> Result<(), Failed> {
    let mut command = tilescope(&data());
    command
        .args(["check", "vector_add"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    drop(child.stdout.take());
    let output = child.wait_with_output()?;
    if output.status.code() != Some(0) || !output.stderr.is_empty() {
        return Err(said(&output).into());
    }
    Ok(())
}

/// Ctrl-C in a kernel that never ends: what was found so far is reported, with a status of its own.
fn interrupt() -> Result<(), Failed> {
    let mut command = tilescope(&data().join("cases/endless"));
    command.args(["check", "endless.launch.toml", "--max-steps", "1000000000000000"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    sleep(Duration::from_millis(500));
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()?;
    let status = child.wait()?;
    let mut stdout = String::new();
    if let Some(mut out) = child.stdout.take() {
        out.read_to_string(&mut stdout)?;
    }
    if !killed.success() || status.code() != Some(130) || !stdout.contains("interrupted; so far ok") {
        return Err(format!("exit status {:?}\n{stdout}", status.code()).into());
    }
    Ok(())
}
