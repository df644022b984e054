//! `tests/sessions/NAME.txt`: what a session of the debugger says, with its commands: a transcript is its own script.
//!
//! The first line is the command line, `$ tilescope debug LAUNCH` (`[STATUS]` at its end, unless the status is 0); each
//! line that begins with `> ` is a command. `docs/debugging.md` has such a transcript too.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use libtest_mimic::{Failed, Trial};

use crate::{data, name, said, tilescope};

pub fn trials() -> Vec<Trial> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(data().join("sessions"))
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.extension().is_some_and(|kind| kind == "txt"))
        .collect();
    files.sort();
    let trial = |path: PathBuf| {
        let title = format!("sessions/{}", name(&path).trim_end_matches(".txt"));
        Trial::test(title, move || file(&path))
    };
    let mut trials: Vec<Trial> = files.into_iter().map(trial).collect();
    trials.push(Trial::test("sessions/docs", || {
        page(&data().join("../docs/debugging.md"))
    }));
    trials
}

fn file(path: &Path) -> Result<(), Failed> {
    let expected = std::fs::read_to_string(path)?;
    let actual = play(&expected)?;
    check(path, &expected, &actual)
}

/// The transcripts of a page: its blocks of code that begin with such a command line.
fn page(path: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?;
    let mut actual = String::new();
    let mut count = 0;
    for (i, part) in text.split("```").enumerate() {
        if i > 0 {
            actual.push_str("```");
        }
        let block = part.trim_start_matches("text\n").trim_start_matches('\n');
        let is_transcript = i % 2 == 1 && block.starts_with("$ tilescope debug ") && block.contains("\n> ");
        if is_transcript {
            count += 1;
            actual.push_str(&part[..part.len() - block.len()]);
            actual.push_str(&play(block)?);
        } else {
            actual.push_str(part);
        }
    }
    if count == 0 {
        return Err("the page has no transcript".into());
    }
    check(path, &text, &actual)
}

fn check(path: &Path, expected: &str, actual: &str) -> Result<(), Failed> {
    if actual == expected {
        return Ok(());
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, actual)?;
        return Ok(());
    }
    Err(format!(
        "{} differs\n--- expected\n{expected}--- actual\n{actual}",
        path.display()
    )
    .into())
}

/// Runs the commands of a transcript; gives what it should be.
fn play(transcript: &str) -> Result<String, Failed> {
    let (head, rest) = transcript.split_once('\n').ok_or("no command line")?;
    let line = head
        .strip_prefix("$ tilescope ")
        .ok_or("the first line is `$ tilescope debug LAUNCH`")?;
    let (line, status) = match line.rsplit_once(" [") {
        Some((line, status)) => (line, status.trim_end_matches(']').parse()?),
        None => (line, 0),
    };
    // The first command is the session's own.
    let commands = rest.lines().filter_map(|line| line.strip_prefix("> ")).skip(1);
    let script: String = commands.map(|command| format!("{command}\n")).collect();
    let mut command = tilescope(&data().join("sessions"));
    command.args(line.split_whitespace()).args(["--script", "-"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(script.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    if output.status.code() != Some(status) {
        return Err(format!("exit status {status} expected\n{}", said(&output)).into());
    }
    Ok(format!("{head}\n{}", String::from_utf8_lossy(&output.stdout)))
}
