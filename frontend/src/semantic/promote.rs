//! Type promotion and implicit broadcasting of operands.

use tilescope_ir::Shape;

use crate::cx::{Cx, Result};
use crate::types::Dtype;
use crate::value::{Tensor, Value};

impl Cx<'_> {
    /// The type in which two number types are computed; `weak` ones are of constants.
    ///
    /// # Errors
    /// Types that do not combine: signed with unsigned in a division.
    pub fn computation_type(&self, _a: (Dtype, bool), _b: (Dtype, bool), _division: bool) -> Result<Dtype> {
        Err(self.unsupported("type promotion"))
    }

    /// Both operands of an arithmetic operation in their common type and shape (Triton:
    /// `binary_op_type_legalization`).
    ///
    /// # Errors
    /// Pointers, types and shapes that do not combine.
    pub fn arithmetic_operands(&mut self, _l: &Value, _r: &Value) -> Result<(Tensor, Tensor)> {
        Err(self.unsupported("type promotion"))
    }

    /// Two tensors in their common shape; types are left alone. `tl.broadcast`.
    ///
    /// # Errors
    /// Shapes that do not broadcast.
    pub fn broadcast_pair(&mut self, _a: &Tensor, _b: &Tensor) -> Result<(Tensor, Tensor)> {
        Err(self.unsupported("broadcasting"))
    }

    /// Several tensors in their common shape.
    ///
    /// # Errors
    /// Shapes that do not broadcast.
    pub fn broadcast_all(&mut self, _tensors: &[Tensor]) -> Result<Vec<Tensor>> {
        Err(self.unsupported("broadcasting"))
    }

    /// `tl.broadcast_to`: a tensor in this shape, of the same rank unless a scalar.
    ///
    /// # Errors
    /// Shapes that do not broadcast.
    pub fn broadcast_to(&mut self, _x: &Tensor, _shape: Shape) -> Result<Tensor> {
        Err(self.unsupported("broadcasting"))
    }
}
