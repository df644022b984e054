//! Differential testing: the same kernel by several paths, and where they may differ.
//!
//! [`twin`] makes of a kernel its float64 twin: a kernel that computes what the first one does, the same with every
//! float widened to f64, and a bound on how far any correct path may be from that. [`case`] draws launches near the
//! boundaries of their sizes, [`search`](search()) runs them and makes a failure small, [`compare`](compare()) says
//! where two paths differ.
//!
//! Runs nothing itself, prints nothing, reads no file.

pub mod case;
mod compare;
pub mod generate;
mod search;
pub mod twin;

pub use compare::{Difference, Tightness, compare};
pub use search::{Found, Outcome, Verdict, search};
