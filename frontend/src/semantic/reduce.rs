//! Operations along a dimension: reductions, scans, gather, histogram; and functions mapped over lanes.

use crate::cx::{Cx, Result};
use crate::semantic::Combine;
use crate::value::{Tensor, Value};

impl<'p> Cx<'p> {
    /// `tl.reduce`: `axis` of none combines all dimensions away.
    ///
    /// # Errors
    /// Inputs of different shapes, scalars, and what `combine` refuses.
    pub fn reduce(
        &mut self,
        _inputs: &[Tensor],
        _axis: Option<i64>,
        _keep_dims: bool,
        _combine: &mut Combine<'_, 'p>,
    ) -> Result<Vec<Tensor>> {
        Err(self.unsupported("`reduce`"))
    }

    /// `tl.associative_scan`.
    ///
    /// # Errors
    /// As for [`Cx::reduce`].
    pub fn associative_scan(
        &mut self,
        _inputs: &[Tensor],
        _axis: i64,
        _reverse: bool,
        _combine: &mut Combine<'_, 'p>,
    ) -> Result<Vec<Tensor>> {
        Err(self.unsupported("`associative_scan`"))
    }

    /// `tl.map_elementwise`: `function` gets `pack` scalars per input.
    ///
    /// # Errors
    /// Shapes that do not broadcast, and what `function` refuses.
    pub fn map_elementwise(
        &mut self,
        _inputs: &[Tensor],
        _pack: u32,
        _function: &mut Combine<'_, 'p>,
    ) -> Result<Vec<Tensor>> {
        Err(self.unsupported("`map_elementwise`"))
    }

    /// Values and their positions along an axis, reduced together (`tl.argmax`, `tl.max(return_indices=True)`).
    ///
    /// # Errors
    /// As for [`Cx::reduce`].
    pub fn reduce_with_indices(
        &mut self,
        _x: &Tensor,
        _axis: Option<i64>,
        _keep_dims: bool,
        _combine: &mut Combine<'_, 'p>,
    ) -> Result<(Tensor, Tensor)> {
        Err(self.unsupported("`reduce`"))
    }

    /// `tl.gather`.
    ///
    /// # Errors
    /// Shapes that differ outside of the axis, indices that are no integers.
    pub fn gather(&mut self, _x: &Tensor, _index: &Tensor, _axis: i64) -> Result<Tensor> {
        Err(self.unsupported("`gather`"))
    }

    /// `tl.histogram`; a mask of `None` is none.
    ///
    /// # Errors
    /// What is not one dimension of 32-bit integers.
    pub fn histogram(&mut self, _x: &Tensor, _bins: u64, _mask: &Value) -> Result<Tensor> {
        Err(self.unsupported("`histogram`"))
    }
}
