//! The debugger: one launch, stepped forwards and backwards.
//!
//! [`Session::run`] takes a [`Command`] and gives a [`Reply`], both plain data. The session holds everything (the
//! kernel, the tensors, the programs' values) and touches nothing else: it reads no file, prints nothing, has no
//! terminal and no clock. Fronts are thin: a script is lines that [`Command::parse`] reads and replies that
//! [`render`] makes text or JSON of; a screen reads what it draws with the session's views ([`Session::tile`],
//! [`Session::tensor`], [`Session::grid`], …), which look at parts without copying the whole.
//!
//! Going back is deterministic re-execution from snapshots (`history.rs`), within a bound on memory.
//!
//! Left out: values inside the region of a reduce, scan or map.

mod breakpoints;
mod code;
mod command;
mod engine;
mod evaluate;
mod grid;
mod history;
mod inspect;
mod levels;
mod motion;
mod parse;
mod places;
mod recorder;
pub mod render;
mod reply;
mod reverse;
mod session;
mod unfold;
mod values;
mod walk;
mod why;

pub use command::{BreakAt, COMMANDS, Command, CommandInfo, MemoryRange, Schedule, Span};
pub use grid::{GridView, ProgramState, StateRun};
pub use inspect::{OTHERS, READ, WRITTEN};
pub use places::{Aim, OpPlace};
pub use reply::{
    BreakpointView, Listing, OpView, Position, Reason, Reply, Stopped, Touch, TouchKind, Touched, Variable,
    WhyStep, Writer,
};
pub use session::{Opening, Options, Session};
pub use values::{Lane, LaneState, Summary, TensorWindow, TileWindow, ValueKey, Window};
