//! Differential testing: the same kernel by several paths, and where they may differ.
//!
//! [`twin`] makes of a kernel its float64 twin: a kernel that computes what the first one does, the same with every
//! float widened to f64, and a bound on how far any correct path may be from that. [`case`] draws launches near the
//! boundaries of their sizes, [`judge`] runs one by all paths, [`search`](search()) runs many and makes a failure small,
//! [`compare`](compare()) says where two paths differ.
//!
//! [`precision`] says where the error of an output grew.
//!
//! Compiles nothing itself, prints nothing, reads no file.

mod against;
mod bisect;
mod bounds;
pub mod case;
mod compare;
mod engine;
mod failure;
mod fork;
pub mod generate;
mod growth;
pub mod judge;
pub mod precision;
mod relations;
mod search;
pub mod stages;
mod traced;
pub mod twin;

pub use against::Other;
pub use compare::{Difference, Fit, Tightness, compare};
pub use engine::{Dump, Ended, Engine, Watch};
pub use failure::{Failure, On, Relation};
pub use search::{Found, Judge, Outcome, Verdict, search};
