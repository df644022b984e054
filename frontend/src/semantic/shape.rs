//! Shapes: subscripts, reshape, permutation, join and split.

use tilescope_ir::Shape;

use crate::cx::{Cx, Result};
use crate::value::{Tensor, Value};

impl Cx<'_> {
    /// `x[index]`: `None`, `:`, and for tuples of these.
    ///
    /// # Errors
    /// Indices that blocks do not take.
    pub fn subscript(&mut self, _x: &Tensor, _index: &Value) -> Result<Value> {
        Err(self.unsupported("subscripts of tensors"))
    }

    /// A scalar in all lanes of a block; the scalar itself for an empty shape.
    ///
    /// # Errors
    /// A block.
    pub fn splat(&mut self, _x: &Tensor, _shape: Shape) -> Result<Tensor> {
        Err(self.unsupported("`splat`"))
    }

    /// `x.item()`: the element of a block of one; a scalar as it is.
    ///
    /// # Errors
    /// A block of several elements.
    pub fn unsplat(&mut self, _x: &Tensor) -> Result<Tensor> {
        Err(self.unsupported("`item`"))
    }

    /// `tl.expand_dims`: dimensions of one put in, axes counted in the result.
    ///
    /// # Errors
    /// Axes out of range or named twice.
    pub fn expand_dims(&mut self, _x: &Tensor, _axes: &[i64]) -> Result<Tensor> {
        Err(self.unsupported("`expand_dims`"))
    }

    /// `tl.reshape`, `tl.view` (with `can_reorder`); a scalar for an empty shape.
    ///
    /// # Errors
    /// Another number of elements.
    pub fn reshape(&mut self, _x: &Tensor, _shape: Shape, _can_reorder: bool) -> Result<Tensor> {
        Err(self.unsupported("`reshape`"))
    }

    /// `tl.permute`, `tl.trans`: result dimension i is dimension `order[i]`; an empty order swaps the last two.
    ///
    /// # Errors
    /// An order that is no permutation.
    pub fn permute(&mut self, _x: &Tensor, _order: &[i64]) -> Result<Tensor> {
        Err(self.unsupported("`permute`"))
    }

    /// `tl.join`: along a new last dimension of two.
    ///
    /// # Errors
    /// Shapes that do not broadcast, types that differ.
    pub fn join(&mut self, _a: &Tensor, _b: &Tensor) -> Result<Tensor> {
        Err(self.unsupported("`join`"))
    }

    /// `tl.split`: the halves of a last dimension of two.
    ///
    /// # Errors
    /// Another last dimension.
    pub fn split(&mut self, _x: &Tensor) -> Result<(Tensor, Tensor)> {
        Err(self.unsupported("`split`"))
    }

    /// `tl.cat`: one after the other along `dim`.
    ///
    /// # Errors
    /// Shapes that differ.
    pub fn cat(&mut self, _a: &Tensor, _b: &Tensor, _can_reorder: bool, _dim: i64) -> Result<Tensor> {
        Err(self.unsupported("`cat`"))
    }
}
