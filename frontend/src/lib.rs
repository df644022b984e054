//! Triton's Python source to tile IR, without Python and without Triton.
//!
//! The stages: [`parse`] (text to [`ast`]), [`source`] (files, imports, what stands at module level), [`eval`] (a
//! compile-time evaluator of kernels, as Triton's code generator is one), which calls [`language`] (tables of what a
//! kernel can name) and [`semantic`] (what operations on run-time values do). Reads files only through
//! [`source::Files`], given by the caller; prints nothing.

pub mod ast;
pub mod cx;
pub mod eval;
pub mod konst;
pub mod language;
pub mod limits;
pub mod outline;
pub mod parse;
pub mod request;
pub mod semantic;
pub mod source;
pub mod specialize;
pub mod types;
pub mod value;

/// What to compile for.
#[derive(Debug, Clone)]
pub struct Options {
    /// Compute capability times ten: 90 for an H100 or H200. What `tl.target_info` answers.
    pub capability: u32,
    /// Warps of a program.
    pub num_warps: u32,
    /// Stages of software pipelining.
    pub num_stages: u32,
}
