//! What a launch gives back.

use std::fmt;

use tilescope_diagnostics::render::{Paint, summary, text};
use tilescope_diagnostics::{Finding, Launched, Printed};

use crate::kernel::Refused;
use crate::sources::RustFiles;

/// What a launch printed and what the checks found.
///
/// Displayed, it is the report of `tilescope check`, with the Rust lines that findings are about.
#[derive(Clone, PartialEq)]
pub struct Report {
    launched: Launched,
}

/// What checks advise in Triton's words, and the same in ours.
const IN_RUST: &[(&str, &str)] = &[
    (
        "tl.load(ptr, mask=offsets < size, other=0.0)",
        "k.load(ptr, offsets.lt(size), 0.0)",
    ),
    (
        "tl.store(ptr, value, mask=offsets < size)",
        "k.store(ptr, value, offsets.lt(size))",
    ),
    ("tl.where", "k.where_"),
    ("tl.assume", "k.assume"),
];

fn in_rust(text: &mut String) {
    for (python, rust) in IN_RUST {
        *text = text.replace(python, rust);
    }
}

/// Why a test fails: there was nothing to run, or something was found.
#[derive(Clone)]
pub enum Failure {
    /// The kernel has mistakes, or the arguments do not fit it; nothing was run.
    Refused(Refused),
    /// The kernel was run, and a check found an error.
    Found(Box<Report>),
}

impl Report {
    pub(crate) fn new(mut launched: Launched) -> Report {
        for finding in &mut launched.findings {
            in_rust(&mut finding.message);
            finding.help.iter_mut().for_each(in_rust);
        }
        Report { launched }
    }

    /// What the checks found, by first program, then by place in the program.
    pub fn findings(&self) -> &[Finding] {
        &self.launched.findings
    }

    /// What the kernel printed, in program order.
    pub fn prints(&self) -> &[Printed] {
        &self.launched.prints
    }

    /// All that is known of the launch.
    pub fn launched(&self) -> &Launched {
        &self.launched
    }

    /// The report as text, with or without colours.
    pub fn text(&self, paint: Paint) -> String {
        let files = RustFiles::default();
        let prints = self.prints().iter().map(text::printed);
        let findings = self.findings().iter();
        let findings = findings.map(|finding| text::finding(finding, &files, paint) + "\n");
        let verdict = summary::verdict(&self.launched).replace("--max-findings", "Launcher::max_findings");
        prints.chain(findings).chain([verdict]).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(Paint::Plain))
    }
}

/// As it is displayed, so that `unwrap` in a test reads well.
impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{self}")
    }
}

impl Failure {
    /// The report, if the kernel was run.
    pub fn report(&self) -> Option<&Report> {
        match self {
            Failure::Found(report) => Some(report),
            Failure::Refused(_) => None,
        }
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Failure {
        Failure::Refused(refused)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Refused(refused) => refused.fmt(f),
            Failure::Found(report) => report.fmt(f),
        }
    }
}

/// As it is displayed, so that `unwrap` in a test reads well.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{self}")
    }
}

impl std::error::Error for Failure {}
