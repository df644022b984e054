//! Example kernels with their launch files, and references to judge them by.
//!
//! [`KERNELS`] holds every launch of the folders beside `src/`: the kernel's Python source, the TTIR that Triton
//! compiled it to, and the launch file, all embedded, so that the binary runs them anywhere. [`reference()`] finds the
//! expected output that a launch file asks for by name.
//!
//! The `.ttir` files come from `kernels/compile.py`, the only place that needs Triton. Nothing here reads a file.

mod examples;
mod philox;
mod references;

pub use examples::{Example, File, KERNELS, example};
pub use references::{REFERENCES, reference};
