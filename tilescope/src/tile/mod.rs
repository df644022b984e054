//! Tiles: values of a kernel that is being written.

mod arith;
mod atomic;
mod carried;
mod cast;
mod control;
mod descriptor;
mod dot;
mod math;
mod memory;
pub(crate) mod operand;
mod operators;
pub(crate) mod promote;
mod random;
mod reduce;
mod shape;
pub(crate) mod types;

use std::fmt;

use crate::builder::{Builder, Value};

pub use carried::Carried;
pub use descriptor::{Descriptor, Operands};
pub use dot::InputPrecision;
pub use operand::{Number, Operand, OptionalOperand};
pub use types::{Lane, TileType};

/// A value of a kernel: one number or pointer, or a tile of them with power-of-two dimensions.
///
/// Tiles are `Copy`. Operators and methods add operations to the kernel at the Rust line where they stand, and give
/// new tiles; nothing is computed until the kernel is run. Two operands meet by Triton's rules: numbers are
/// promoted, shapes broadcast, one number meets every lane. What does not fit is a mistake that
/// [`Kernel::build`](crate::Kernel::build) reports.
#[derive(Clone, Copy)]
pub struct Tile<'k> {
    pub(crate) k: &'k Builder,
    /// None for a broken tile, which comes of a mistake.
    pub(crate) value: Option<Value>,
}

impl<'k> Tile<'k> {
    /// Its type; none for what comes of a mistake.
    pub fn ty(self) -> Option<TileType> {
        self.value.map(|value| value.ty)
    }

    /// Gives it a name, which findings show.
    pub fn named(self, name: &str) -> Tile<'k> {
        self.k.name(self, name);
        self
    }
}

/// Its type.
impl fmt::Debug for Tile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ty() {
            Some(ty) => write!(f, "Tile({ty})"),
            None => f.write_str("Tile(broken)"),
        }
    }
}
