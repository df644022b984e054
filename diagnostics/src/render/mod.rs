//! Renderers: findings, errors and reports as text for people, and as JSON, SARIF, JUnit's XML and annotations of GitHub
//! for programs.
//!
//! One renderer per file, each a pure function from data to a string. No renderer reads a file:
//! the texts that findings point into come from the caller through [`Sources`]. Whether to colour
//! is the caller's decision too ([`Paint`]). A text that is not at hand costs the source line, never
//! the finding.

pub mod github;
pub mod json;
pub mod junit;
pub mod number;
pub mod sarif;
pub mod summary;
pub mod text;

use std::sync::Arc;

use crate::Source;

/// Where renderers get the texts that locations point into.
pub trait Sources {
    /// The text of `file`, a path as a [`crate::Frame`] gives it; none when it cannot be had.
    fn text(&self, file: &str) -> Option<Arc<Source>>;
}

/// No source texts at all: places are given by name, line and column only.
#[derive(Debug, Clone, Copy)]
pub struct NoSources;

impl Sources for NoSources {
    fn text(&self, _file: &str) -> Option<Arc<Source>> {
        None
    }
}

/// Plain text, or text with ANSI colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// No escape sequences.
    Plain,
    /// ANSI escape sequences, for a terminal.
    Color,
}
