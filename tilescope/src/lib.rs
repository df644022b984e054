//! Tile kernels written in Rust, and checked on the CPU from a test.
//!
//! [`Kernel::new`] takes a closure that combines [`Tile`]s with operators and methods; [`check()`] runs the kernel on
//! arrays with every check that tilescope has, and says of what it finds on which Rust line it was. There is no GPU,
//! no macro and no code generation: the closure builds tilescope's IR, the same that Triton's kernels become.
//!
//! - [`Builder`]: what the closure gets. Parameters, memory, loops, branches, reductions, products, atomics.
//! - [`Tile`]: a value. Operators, comparison, functions, shapes, conversions.
//! - [`check()`], [`run`], [`Launcher`]: launches, with [`Args`] made of `ndarray` arrays, slices and numbers.
//! - [`Report`], [`Failure`]: what comes back.
//!
//! Left out, so far: block pointers, tensor descriptors made by the host, scaled products, orders and scopes of
//! atomics other than Triton's default.

mod args;
mod builder;
mod check;
mod kernel;
mod report;
mod sources;
mod tile;

pub use args::{Arg, Args, Writable, null, out};
pub use builder::Builder;
pub use check::{Grid, Launcher, check, run};
pub use half::{bf16, f16};
pub use kernel::{Kernel, Refused};
pub use report::{Failure, Report};
pub use tile::{
    Carried, Descriptor, InputPrecision, Lane, Number, Operand, Operands, OptionalOperand, Tile, TileType,
};
pub use tilescope_diagnostics as diagnostics;
pub use tilescope_ir as ir;
pub use tilescope_launch::{Dtype, Element};

pub use Dtype::{BF16, F8E4M3, F8E5M2, F16, F32, F64, I1, I8, I16, I32, I64, U8, U16, U32, U64};

#[doc = include_str!("../../docs/rust-kernels.md")]
pub mod guide {}
