//! stdout and stderr: where reports and messages go, whether they are coloured, and closed pipes.
//!
//! stdout holds only what was asked for. A reader of a page that closes the pipe (`explain … | head`) has read enough: the rest is
//! dropped without a word. One of a report of findings has not: that is an error, as findings are never lost.

use std::io::{ErrorKind, IsTerminal, Write, stderr, stdout};

use anyhow::{Context, Result};
use tilescope_diagnostics::Error;
use tilescope_diagnostics::render::{Paint, text};

use crate::args::{Global, When};

/// The two streams of a command.
#[derive(Debug, Clone, Copy)]
pub struct Terminal {
    /// How to colour the report.
    pub report: Paint,
    /// How to colour messages.
    pub messages: Paint,
    /// True when progress may be drawn on stderr.
    pub progress: bool,
}

impl Terminal {
    /// Decides once, from the options, NO_COLOR and what the streams are.
    pub fn new(global: &Global) -> Terminal {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let paint = |is_terminal: bool| match global.color {
            When::Always => Paint::Color,
            When::Auto if is_terminal && !no_color => Paint::Color,
            When::Auto | When::Never => Paint::Plain,
        };
        Terminal {
            report: paint(stdout().is_terminal()),
            messages: paint(stderr().is_terminal()),
            progress: stderr().is_terminal() && !global.quiet,
        }
    }

    /// Writes a page, which holds no findings, to stdout.
    ///
    /// # Errors
    /// When it cannot be written, for example on a full disk; a closed pipe is no error.
    pub fn page(&self, text: &str) -> Result<()> {
        let mut out = stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            result => result.context("cannot write to stdout"),
        }
    }

    /// Writes a report of findings, or a part of one, to stdout.
    ///
    /// # Errors
    /// When it cannot be written; a closed pipe is an error too.
    pub fn report(&self, text: &str) -> Result<()> {
        let mut out = stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(anyhow::anyhow!(
                "cannot write the report to stdout: its reader has closed it"
            )),
            result => result.context("cannot write the report to stdout"),
        }
    }

    /// Says why an input is not used, on stderr.
    pub fn error(&self, error: &Error) {
        message(&text::error(error, self.messages));
    }

    /// Says something by the way, on stderr.
    pub fn note(&self, text: &str) {
        message(&format!("note: {text}\n"));
    }
}

/// Writes to stderr; where even that fails there is nobody left to tell.
pub fn message(text: &str) {
    let mut err = stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}
