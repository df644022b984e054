//! One file per command; each takes its arguments and gives a [`Status`].

pub mod cache;
pub mod check;
pub mod debug;
pub mod emit;
pub mod explain;
pub mod init;
pub mod kernels;
pub mod list;
pub mod run;

use tilescope_diagnostics::render::{summary, text};
use tilescope_diagnostics::{Launched, Severity};

use crate::args::Global;
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

/// Says why a launch is not run; gives the status that it ends with.
fn refuse(refused: &Refused, terminal: &Terminal) -> Status {
    refused.0.iter().fold(Status::Clean, |status, error| {
        terminal.error(error);
        status.and(Status::of(error))
    })
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
