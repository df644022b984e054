//! Tensor descriptors.

use tilescope_ir::Shape;
use tilescope_ir::attrs::ReduceKind;

use crate::cx::{Cx, Result};
use crate::semantic::memory::Access;
use crate::value::{Descriptor, Tensor, Value};

impl Cx<'_> {
    /// `tl.make_tensor_descriptor`; shape and strides are constants or scalar integers, `padding` is `"zero"` or
    /// `"nan"`.
    ///
    /// # Errors
    /// A base that is no pointer, lists of different lengths, a last stride other than 1, strides and blocks that
    /// the hardware does not take.
    pub fn make_tensor_descriptor(
        &mut self,
        _base: &Value,
        _shape: &[Value],
        _strides: &[Value],
        _block: Shape,
        _padding: &str,
    ) -> Result<Value> {
        Err(self.unsupported("`make_tensor_descriptor`"))
    }

    /// `desc.load(offsets)`.
    ///
    /// # Errors
    /// Another number of offsets, offsets that are no 32-bit integers.
    pub fn descriptor_load(
        &mut self,
        _d: &Descriptor,
        _offsets: &[Value],
        _access: &Access,
    ) -> Result<Tensor> {
        Err(self.unsupported("descriptors"))
    }

    /// `desc.store(offsets, value)`.
    ///
    /// # Errors
    /// As for a load; a value of another shape.
    pub fn descriptor_store(&mut self, _d: &Descriptor, _offsets: &[Value], _value: &Value) -> Result<()> {
        Err(self.unsupported("descriptors"))
    }

    /// `desc.atomic_add(offsets, value)` and the like.
    ///
    /// # Errors
    /// As for a store; element types that the operation does not take.
    pub fn descriptor_reduce(
        &mut self,
        _kind: ReduceKind,
        _d: &Descriptor,
        _offsets: &[Value],
        _value: &Value,
    ) -> Result<()> {
        Err(self.unsupported("descriptors"))
    }

    /// `desc.gather(x_offsets, y_offset)`: rows by index, columns from an offset.
    ///
    /// # Errors
    /// Blocks of more than one row, too few rows or columns, types of indices.
    pub fn descriptor_gather(
        &mut self,
        _d: &Descriptor,
        _x_offsets: &Value,
        _y_offset: &Value,
    ) -> Result<Tensor> {
        Err(self.unsupported("descriptors"))
    }

    /// `desc.scatter(value, x_offsets, y_offset)`.
    ///
    /// # Errors
    /// As for a gather.
    pub fn descriptor_scatter(
        &mut self,
        _d: &Descriptor,
        _value: &Value,
        _x_offsets: &Value,
        _y_offset: &Value,
    ) -> Result<()> {
        Err(self.unsupported("descriptors"))
    }
}
