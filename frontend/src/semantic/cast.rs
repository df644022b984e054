//! Conversions between types.

use tilescope_ir::attrs::Rounding;

use crate::cx::{Cx, Result};
use crate::types::Elem;
use crate::value::Tensor;

impl Cx<'_> {
    /// `x.to(dtype)`: a conversion of each element; `rounding` only where a float gets narrower.
    ///
    /// # Errors
    /// Conversions that there are not: pointer to float, a rounding mode for a wider type.
    pub fn cast(&mut self, _x: &Tensor, _to: Elem, _rounding: Option<Rounding>) -> Result<Tensor> {
        Err(self.unsupported("`cast`"))
    }

    /// `x.to(dtype, bitcast=True)`: the same bits.
    ///
    /// # Errors
    /// Types of different width.
    pub fn bitcast(&mut self, _x: &Tensor, _to: Elem) -> Result<Tensor> {
        Err(self.unsupported("`bitcast`"))
    }

    /// The rounding mode with this name (`"rtne"`, `"rtz"`).
    ///
    /// # Errors
    /// Another name.
    pub fn rounding_mode(&self, name: &str) -> Result<Rounding> {
        Rounding::from_word(name)
            .ok_or_else(|| self.error(format!("`{name}` is no rounding mode: use \"rtne\" or \"rtz\"")))
    }
}
