//! Matrix products.

use crate::cx::{Cx, Result};
use crate::types::Dtype;
use crate::value::{Tensor, Value};

/// The keyword arguments of `tl.dot`.
#[derive(Debug, Clone, Default)]
pub struct DotOptions {
    /// `input_precision` (`"tf32"`, `"ieee"`, …).
    pub input_precision: Option<String>,
    /// `allow_tf32`, the older way to say it.
    pub allow_tf32: Option<bool>,
    /// `max_num_imprecise_acc`.
    pub max_num_imprecise_acc: Option<i64>,
    /// `out_dtype`; none is fp32, or the accumulator's.
    pub out_dtype: Option<Dtype>,
}

/// An operand of `tl.dot_scaled`.
#[derive(Debug, Clone)]
pub struct Scaled<'a> {
    /// The elements.
    pub tile: &'a Tensor,
    /// Its scales; `None` for none.
    pub scale: &'a Value,
    /// `"e2m1"`, `"e4m3"`, `"e5m2"`, `"bf16"`, `"fp16"`.
    pub format: &'a str,
    /// Packed along the reduction dimension.
    pub k_pack: bool,
}

impl Cx<'_> {
    /// `tl.dot`; an accumulator of `None` is zero.
    ///
    /// # Errors
    /// Shapes and types that do not multiply.
    pub fn dot(&mut self, _a: &Tensor, _b: &Tensor, _acc: &Value, _options: &DotOptions) -> Result<Tensor> {
        Err(self.unsupported("`dot`"))
    }

    /// `tl.dot_scaled`; an accumulator of `None` is zero.
    ///
    /// # Errors
    /// Shapes, formats and scales that do not fit.
    pub fn dot_scaled(
        &mut self,
        _a: &Scaled<'_>,
        _b: &Scaled<'_>,
        _acc: &Value,
        _fast_math: bool,
        _out_dtype: Dtype,
    ) -> Result<Tensor> {
        Err(self.unsupported("`dot_scaled`"))
    }
}
