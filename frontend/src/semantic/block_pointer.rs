//! Block pointers (`tl.make_block_ptr`, removed from Triton 3.9, alive in authors' code).

use tilescope_ir::Shape;

use crate::cx::{Cx, Result};
use crate::value::{Tensor, Value};

impl Cx<'_> {
    /// `tl.make_block_ptr`; shape, strides and offsets are constants or scalar integers.
    ///
    /// # Errors
    /// A base that is no pointer, lists of different lengths.
    pub fn make_block_ptr(
        &mut self,
        _base: &Value,
        _shape: &[Value],
        _strides: &[Value],
        _offsets: &[Value],
        _block: Shape,
        _order: &[i64],
    ) -> Result<Tensor> {
        Err(self.unsupported("`make_block_ptr`"))
    }

    /// `tl.advance`.
    ///
    /// # Errors
    /// What is no block pointer, another number of offsets.
    pub fn advance(&mut self, _base: &Value, _offsets: &[Value]) -> Result<Tensor> {
        Err(self.unsupported("`advance`"))
    }
}
