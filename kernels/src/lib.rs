//! Example kernels with their launch files, and references to judge them by.
//!
//! [`KERNELS`] holds every launch of the folders beside `src/`: the kernel's Python source and the launch file, embedded, so that the binary runs them anywhere. [`reference()`] finds the
//! expected output that a launch file asks for by name.
//!
//! The `.ttir` files, with which tests compare, come from `kernels/compile.py`, the only place that needs Triton. Nothing here reads a file.

mod examples;
mod philox;
mod references;

pub use examples::{Example, File, KERNELS, example};
pub use references::{REFERENCES, reference};
