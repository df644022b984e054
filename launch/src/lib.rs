//! Launch files: what is needed to run one kernel once.
//!
//! Reads `NAME.launch.toml` and `NAME.pipeline.toml`, evaluates their expressions, binds arguments
//! to a kernel's parameters and makes the data. Reads files only through a trait given by the caller.

pub mod expr;
mod memory;
mod model;

pub use memory::{Allocation, Memory};
pub use model::{AllocationId, Argument, CompileOptions, Dtype, Launch, Role, Tensor, TensorId};
