//! The evaluator: what Triton's code generator does with a kernel's text.
//!
//! Constants are computed ([`konst`](crate::konst)), run-time values become IR
//! ([`semantic`](crate::semantic)). By part: expressions (`expr`, `logic`), statements (`stmt`, `branch`,
//! `loops`), functions (`call`, `outline`, `returns`), classes (`class`), kernels (`kernel`), Python that runs at
//! compile time (`host`).
//!
//! Promises: every operation has the location that Triton gives it; errors name the author's lines; any input ends
//! within [`limits`](crate::limits). Left out: what Triton refuses in kernels (`break`, nested functions, …), refused
//! by name.

mod branch;
mod call;
mod choose;
mod class;
mod expr;
mod host;
mod kernel;
mod logic;
mod loops;
mod outline;
mod place;
mod returns;
mod same;
mod stmt;

pub(crate) use kernel::compile;
pub(crate) use outline::Outlined;
pub(crate) use place::LineIndex;
pub(crate) use returns::{Returned, Unreached};
