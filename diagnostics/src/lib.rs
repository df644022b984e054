//! Findings and errors as data.
//!
//! Two kinds of message exist. A [`Finding`] is what a check reports about a kernel; an [`Error`]
//! says why an input (launch file, TTIR, data file, command line) cannot be used. Both are plain
//! data: nothing here prints, reads a file or knows a terminal. Wording is made in one place per
//! message; the renderers turn data into text, JSON and other formats.
//!
//! Depends on nothing of ours.

mod check;
mod check_set;
mod error;
pub mod explain;
mod finding;
pub mod render;
mod search;
mod suggest;
mod suppress;

pub use check::{Check, Severity};
pub use check_set::{CheckSet, GROUPS, Group};
pub use error::{Error, ErrorKind, Label, Result, Source};
pub use finding::{
    Chain, Finding, Frame, Launched, Location, OutputSummary, Printed, Report, Suppressed, TensorRef, Unused,
    Value,
};
pub use search::{Bounds, FailedCase, Searched};
pub use suggest::closest;
pub use suppress::{Pattern, Rule, Suppressions, Whose};
