//! Errors about inputs: what, where (a range in a source text), why, and what to do.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// `Result` with our boxed [`Error`].
pub type Result<T, E = Box<Error>> = std::result::Result<T, E>;

/// A named text that errors point into: a launch file, a TTIR dump, an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The name shown to the user, usually a path as they wrote it.
    pub name: String,
    /// The whole text.
    pub text: String,
}

impl Source {
    /// A shared source; errors hold on to it so that they can show the line.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Source> {
        Arc::new(Source {
            name: name.into(),
            text: text.into(),
        })
    }

    /// 1-based line and column (in characters) of a byte offset; offsets past the end give the end.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let offset = self.text.floor_char_boundary(offset);
        let before = &self.text[..offset];
        let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |i| i + 1);
        (line, before[start..].chars().count() + 1)
    }

    /// The text of a 1-based line without its line break.
    pub fn line(&self, line: usize) -> Option<&str> {
        self.text.lines().nth(line.checked_sub(1)?)
    }
}

/// Why an input is not used; decides the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The input or the command line is wrong: exit status 2.
    Input,
    /// The input is right, but asks for something this version does not do: exit status 3.
    Unsupported,
    /// A bug in tilescope: exit status 70.
    Internal,
}

impl ErrorKind {
    /// The process exit status for an error of this kind.
    pub fn exit_status(self) -> u8 {
        match self {
            ErrorKind::Input => 2,
            ErrorKind::Unsupported => 3,
            ErrorKind::Internal => 70,
        }
    }
}

/// A place in a [`Source`], with a word on what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The text pointed into.
    pub source: Arc<Source>,
    /// Byte range in `source.text`; may be empty (a point), must lie inside.
    pub range: Range<usize>,
    /// What is said under the caret; may be empty.
    pub text: String,
}

/// An error about an input.
///
/// The first label is the place of the error; further labels are related places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Decides the exit status.
    pub kind: ErrorKind,
    /// What is wrong, one sentence without a full stop.
    pub message: String,
    /// Where; the primary place first. Empty when there is no text (a missing file).
    pub labels: Vec<Label>,
    /// Why: facts that explain the message.
    pub notes: Vec<String>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Error {
    /// An error about a wrong input (exit status 2).
    pub fn input(message: impl Into<String>) -> Box<Error> {
        Error::new(ErrorKind::Input, message)
    }

    /// A refusal, by name, of something this version does not do (exit status 3).
    pub fn unsupported(message: impl Into<String>) -> Box<Error> {
        Error::new(ErrorKind::Unsupported, message)
    }

    /// A bug of this tool (exit status 70).
    pub fn internal(message: impl Into<String>) -> Box<Error> {
        Error::new(ErrorKind::Internal, message)
    }

    fn new(kind: ErrorKind, message: impl Into<String>) -> Box<Error> {
        Box::new(Error {
            kind,
            message: message.into(),
            labels: Vec::new(),
            notes: Vec::new(),
            help: None,
        })
    }

    /// Adds a place; the first one added is the primary one.
    pub fn at(
        mut self: Box<Self>,
        source: &Arc<Source>,
        range: Range<usize>,
        text: impl Into<String>,
    ) -> Box<Self> {
        let end = range.end.min(source.text.len());
        let range = range.start.min(end)..end;
        self.labels.push(Label {
            source: source.clone(),
            range,
            text: text.into(),
        });
        self
    }

    /// Adds a fact that explains the message.
    pub fn note(mut self: Box<Self>, note: impl Into<String>) -> Box<Self> {
        self.notes.push(note.into());
        self
    }

    /// Says what to do.
    pub fn help(mut self: Box<Self>, help: impl Into<String>) -> Box<Self> {
        self.help = Some(help.into());
        self
    }
}

/// One line, `file:line:column: message`, for logs and tests; the CLI shows the caret form.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(label) = self.labels.first() {
            let (line, column) = label.source.line_column(label.range.start);
            write!(f, "{}:{line}:{column}: ", label.source.name)?;
        }
        f.write_str(&self.message)?;
        if let Some(label) = self.labels.first().filter(|l| !l.text.is_empty()) {
            write!(f, ": {}", label.text)?;
        }
        if let Some(help) = &self.help {
            write!(f, " (help: {help})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_given_in_lines_and_characters() {
        let source = Source::new("a.toml", "x = 1\nλ = 2\n");
        assert_eq!(source.line_column(0), (1, 1));
        assert_eq!(source.line_column(source.text.find('=').unwrap()), (1, 3));
        assert_eq!(source.line_column(source.text.find("= 2").unwrap()), (2, 3));
        assert_eq!(source.line_column(usize::MAX), (3, 1));
        assert_eq!(source.line(2), Some("λ = 2"));
    }

    #[test]
    fn a_label_outside_the_text_is_cut_to_it() {
        let source = Source::new("a", "xy");
        let error = Error::input("bad").at(&source, 5..9, "here");
        assert_eq!(error.labels[0].range, 2..2);
        assert_eq!(error.to_string(), "a:1:3: bad: here");
    }
}
