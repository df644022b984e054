//! One file per command; each takes its arguments and gives a [`Status`].

pub mod cache;
pub mod check;
pub mod debug;
pub mod diff;
pub mod emit;
pub mod explain;
pub mod init;
pub mod kernels;
pub mod list;
pub mod run;

use std::borrow::Cow;

use tilescope_diagnostics::render::{summary, text};
use tilescope_diagnostics::{Finding, Launched, Severity, Unused};

use crate::args::{CheckOptions, Global, SourceOptions};
use crate::engine::{Opened, Refused};
use crate::status::Status;
use crate::terminal::Terminal;

/// The status that one launch alone would end with.
fn status_of(launched: &Launched) -> Status {
    if launched.interrupted {
        return Status::Interrupted;
    }
    match launched.findings.iter().any(|f| f.severity == Severity::Error) {
        true => Status::Found,
        false => Status::Clean,
    }
}

/// Keeps the first `max` findings, which is what is shown.
fn keep_first(launched: &mut Launched, max: usize) {
    launched.findings_cut |= launched.findings.len() > max;
    launched.findings.truncate(max);
}

/// Gives each finding that an operation made the command that opens the debugger there. Findings are numbered as they are
/// found, so this comes before any are left out.
fn name_debugger(
    launched: &mut Launched,
    asked: &str,
    opened: &Opened,
    launch: usize,
    sources: &SourceOptions,
    checks: &CheckOptions,
) {
    let mut command = format!("tilescope debug {}", quoted(asked));
    if opened.kernels.len() > 1 {
        command.push_str(&format!(" --launch {}", launch + 1));
    }
    for path in &sources.python_path {
        command.push_str(&format!(" --python-path {}", quoted(&path.display().to_string())));
    }
    if let Some(target) = sources.target {
        command.push_str(&format!(" --target {target}"));
    }
    if let Some(checks) = &checks.checks {
        command.push_str(&format!(" --checks={}", quoted(&checks.list)));
    }
    let findings = launched.findings.iter_mut().enumerate();
    let made = |finding: &Finding| finding.program.is_some() && finding.location.is_some();
    for (index, finding) in findings.filter(|(_, finding)| made(finding)) {
        finding.debug = Some(format!("{command} --finding {}", index + 1));
    }
}

/// A word as a shell reads it.
fn quoted(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => Cow::Borrowed(word),
        false => Cow::Owned(format!("'{}'", word.replace('\'', r"'\''"))),
    }
}

/// Says why a launch is not run; gives the status that it ends with.
fn refuse(refused: &Refused, terminal: &Terminal) -> Status {
    refused.0.iter().fold(Status::Clean, |status, error| {
        terminal.error(error);
        status.and(Status::of(error))
    })
}

/// Suppressions that silenced nothing, one a line.
fn unused(unused: &[Unused]) -> String {
    let line = |unused: &Unused| {
        format!(
            "warning: the suppression of {} at {}:{} matches no finding\n",
            unused.check.id(),
            unused.file,
            unused.line
        )
    };
    unused.iter().map(line).collect()
}

/// The text report of one launch of a file: what the kernel printed, the findings, the outputs, the verdict.
fn as_text(
    opened: &Opened,
    launch: usize,
    launched: &Launched,
    global: &Global,
    terminal: &Terminal,
) -> String {
    let mut report = String::new();
    if !global.quiet {
        for note in &launched.notes {
            terminal.note(note);
        }
        for printed in &launched.prints {
            report.push_str(&text::printed(printed));
        }
    }
    let texts = opened.texts(launch);
    for finding in &launched.findings {
        report.push_str(&text::finding(finding, &texts, terminal.report));
        report.push('\n');
    }
    if !global.quiet {
        report.push_str(&summary::outputs(&launched.outputs));
        report.push_str(&summary::verdict(launched));
    }
    report
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_word_is_quoted_where_a_shell_would_split_it() {
        assert_eq!(quoted("a/b.launch.toml"), "a/b.launch.toml");
        assert_eq!(quoted("my kernels/x"), "'my kernels/x'");
        assert_eq!(quoted("it's; rm"), r"'it'\''s; rm'");
        assert_eq!(quoted(""), "''");
    }
}
