//! Launch files: what is needed to run one kernel once.
//!
//! Reads `NAME.launch.toml` and `NAME.pipeline.toml`, evaluates their expressions, binds arguments
//! to a kernel's parameters and makes the data. Reads files only through [`Files`], given by the caller.
//!
//! The stages: [`LaunchFile::parse`] (text to tree), [`LaunchFile::evaluate`] (values of all names: what a kernel of
//! Python source is compiled for), [`Evaluated::bind`] (with the kernels' signatures to [`Launch`]es),
//! [`Bound::allocate`] (to [`Memory`], any number of times, with the same bytes). A [`LaunchBuilder`] makes in Rust
//! what a launch file says.

mod bind;
mod builder;
mod data_file;
mod deferred;
mod dtype;
mod evaluated;
pub mod expr;
pub mod fault;
mod file;
mod fill;
mod layout;
mod memory;
mod model;
mod npy;
mod philox;
mod resolve;
mod toml_tree;
pub mod view;

pub use bind::{Bound, Parameter, Signature};
pub use builder::{Element, GivenData, LaunchBuilder, TensorInit};
pub use data_file::{
    DataArray, Files, MAX_DATA_BYTES, NoFiles, npy_header, read_data, write_npy, write_safetensors,
};
pub use deferred::Deferred;
pub use evaluated::{Evaluated, GivenArg, GivenConstexpr, GivenValue};
pub use file::{
    CaseFill, Constexpr, ConstexprValue, Expect, KernelRef, LaunchFile, LaunchSpec, Oracle, Overrides, Var,
};
pub use layout::{Run, Runs, is_too_large};
pub use memory::{ALIGNMENT, Allocation, Bytes, FIRST_ADDRESS, LAZY_BYTES, Memory};
pub use model::{
    AllocationId, Argument, AskedOptions, CompileOptions, Dtype, Launch, Role, Tensor, TensorId,
};
