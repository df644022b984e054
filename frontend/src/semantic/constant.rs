//! Constants as tensors, and the operations that make tensors of nothing.

use tilescope_ir::Shape;

use crate::cx::{Cx, Result};
use crate::types::{Dtype, Elem};
use crate::value::{Tensor, Value};

impl Cx<'_> {
    /// A constant as a scalar of the type that Triton gives it (`int32`, else `uint32`, `int64`, `uint64`; `fp32`,
    /// else `fp64`; `int1`); a tensor as it is.
    ///
    /// # Errors
    /// Values that no tensor holds: strings, functions.
    pub fn to_tensor(&mut self, _value: &Value) -> Result<Tensor> {
        Err(self.unsupported("tensors of constants"))
    }

    /// The number type that [`Cx::to_tensor`] gives a constant.
    ///
    /// # Errors
    /// Values that no tensor holds.
    pub fn constant_dtype(&self, _value: &Value) -> Result<Dtype> {
        Err(self.unsupported("tensors of constants"))
    }

    /// A number in a scalar of this type, cut or rounded to it.
    ///
    /// # Errors
    /// Values that are no numbers; floats in integer types.
    pub fn scalar_constant(&mut self, _value: &Value, _dtype: Dtype) -> Result<Tensor> {
        Err(self.unsupported("tensors of constants"))
    }

    /// `tl.full`: a constant or a scalar tensor, cast to `elem`, in all lanes; a scalar for an empty shape.
    ///
    /// # Errors
    /// Values that are no numbers, tensors of several elements.
    pub fn full(&mut self, _shape: Shape, _value: &Value, _elem: Elem) -> Result<Tensor> {
        Err(self.unsupported("`full`"))
    }

    /// `tl.arange`: `start..end` as `int32`.
    ///
    /// # Errors
    /// Bounds that are not constant, an extent that is not a power of two.
    pub fn arange(&mut self, _start: &Value, _end: &Value) -> Result<Tensor> {
        Err(self.unsupported("`arange`"))
    }

    /// `tl.program_id`.
    ///
    /// # Errors
    /// An axis other than 0, 1, 2.
    pub fn program_id(&mut self, _axis: &Value) -> Result<Tensor> {
        Err(self.unsupported("`program_id`"))
    }

    /// `tl.num_programs`.
    ///
    /// # Errors
    /// An axis other than 0, 1, 2.
    pub fn num_programs(&mut self, _axis: &Value) -> Result<Tensor> {
        Err(self.unsupported("`num_programs`"))
    }

    /// A block shape of a tuple of constants (or of one constant): powers of two, at most 2^20 elements.
    ///
    /// # Errors
    /// Anything else, saying which dimension.
    pub fn shape_of(&self, _value: &Value) -> Result<Shape> {
        Err(self.unsupported("shapes"))
    }

    /// A constant axis of `rank` dimensions; negative ones count from the end.
    ///
    /// # Errors
    /// Run-time values, axes out of range.
    pub fn axis_of(&self, _value: &Value, _rank: usize) -> Result<usize> {
        Err(self.unsupported("axes"))
    }
}
