//! Where the report of a command goes: stdout, in one of its forms, and files beside it. What cannot be written somewhere is
//! not lost: it is written to stderr, as text.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use anyhow::Result;
use tilescope_diagnostics::render::{NoSources, Paint, github, json, junit, sarif, summary, text};
use tilescope_diagnostics::{Error, Report};

use crate::args::Format;
use crate::status::Status;
use crate::terminal::{Terminal, message};

/// The report in a form for programs; none of text, which is written launch by launch.
pub fn document(format: Format, report: &Report, errors: &[Box<Error>]) -> Option<String> {
    let version = env!("CARGO_PKG_VERSION");
    match format {
        Format::Text => None,
        Format::Json => Some(json::report(report, errors, version)),
        Format::Sarif => Some(sarif::report(report, errors, version)),
        Format::Junit => Some(junit::report(report, errors)),
        Format::Github => Some(github::report(report, errors)),
    }
}

/// Files that the report is written to as well.
#[derive(Debug)]
pub struct Files(Vec<(PathBuf, Format)>);

impl Files {
    /// Sees to it that the files can be written, before an hour's work.
    ///
    /// # Errors
    /// An ending that says no form; a file that cannot be written.
    pub fn prepare(paths: &[PathBuf]) -> Result<Files, Box<Error>> {
        let mut files = Vec::new();
        for path in paths {
            let format = match path.extension().and_then(|ending| ending.to_str()) {
                Some("json") => Format::Json,
                Some("sarif") => Format::Sarif,
                Some("xml") => Format::Junit,
                Some("txt") => Format::Text,
                _ => {
                    return Err(Error::input(format!(
                        "--report {}: its ending says no form",
                        path.display()
                    ))
                    .help("write .json, .sarif, .xml (JUnit) or .txt"));
                }
            };
            // What is there already stays until the report is.
            let opened = OpenOptions::new().create(true).append(true).open(path);
            opened.map_err(|why| unwritable(path, &why))?;
            files.push((path.clone(), format));
        }
        Ok(Files(files))
    }

    /// Writes all of them; one that cannot be written does not keep the others from it.
    pub fn write(&self, report: &Report, errors: &[Box<Error>]) -> Vec<Box<Error>> {
        let write = |(path, format): &(PathBuf, Format)| {
            let written = document(*format, report, errors).unwrap_or_else(|| plain(report, errors));
            let why = std::fs::write(path, written).err()?;
            Some(unwritable(path, &why))
        };
        self.0.iter().filter_map(write).collect()
    }
}

fn unwritable(path: &Path, why: &std::io::Error) -> Box<Error> {
    let error = Error::input(format!("cannot write the report to `{}`: {why}", path.display()));
    match why.kind() {
        std::io::ErrorKind::NotFound => error.help("make its folder first"),
        _ => error,
    }
}

/// The report as text, without source lines.
fn plain(report: &Report, errors: &[Box<Error>]) -> String {
    let mut out = String::new();
    for launched in &report.launches {
        for finding in &launched.findings {
            out.push_str(&text::finding(finding, &NoSources, Paint::Plain));
            out.push('\n');
        }
        match &launched.search {
            None => out.push_str(&summary::verdict(launched)),
            Some(search) => {
                out.push_str(&search.case.as_ref().map_or_else(String::new, summary::case));
                out.push_str(&summary::searched(launched, search));
            }
        }
    }
    for error in errors {
        out.push_str(&text::error(error, Paint::Plain));
    }
    out
}

/// The report on stdout, as it grows.
#[derive(Debug)]
pub struct Out<'a> {
    terminal: &'a Terminal,
    failed: bool,
}

impl<'a> Out<'a> {
    /// Nothing written yet.
    pub fn new(terminal: &'a Terminal) -> Out<'a> {
        Out {
            terminal,
            failed: false,
        }
    }

    /// Writes a part of the text report; to stderr where stdout does not take it.
    pub fn text(&mut self, part: &str) -> Status {
        if !self.failed {
            match self.terminal.report(part) {
                Ok(()) => return Status::Clean,
                Err(error) => message(&format!("error: {error:#}; it goes on here\n")),
            }
            self.failed = true;
        }
        message(part);
        Status::Input
    }

    /// Writes the report for programs; where stdout does not take it, its findings go to stderr as text.
    pub fn document(&mut self, document: &str, report: &Report) -> Status {
        match self.terminal.report(document) {
            Ok(()) => Status::Clean,
            Err(error) => {
                message(&format!(
                    "error: {error:#}; this is what was found:\n{}",
                    plain(report, &[])
                ));
                Status::Input
            }
        }
    }
}
