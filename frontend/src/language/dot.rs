//! `tl.dot` and `tl.dot_scaled`.

use std::rc::Rc;

use super::builtins;
use crate::cx::{Cx, Result};
use crate::semantic::dot::{DotOptions, Scaled};
use crate::types::Dtype;
use crate::value::{Tensor, Value};

builtins! { TABLE in "triton.language";
    Function "dot" "input, other, acc=None, input_precision=None, allow_tf32=None, max_num_imprecise_acc=None, out_dtype=None"
        => dot, "The product of two matrices, or of two batches, added to `acc`.";
    Function "dot_scaled" "lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, acc=None, fast_math=False, lhs_k_pack=True, rhs_k_pack=True, out_dtype=fp32"
        => dot_scaled, "The product of two matrices in microscaling formats.";
}

#[allow(clippy::too_many_arguments, reason = "Triton's parameters")]
fn dot(
    cx: &mut Cx<'_>,
    input: Tensor,
    other: Tensor,
    acc: Value,
    input_precision: Option<Rc<str>>,
    allow_tf32: Option<bool>,
    max_num_imprecise_acc: Option<i64>,
    out_dtype: Option<Dtype>,
) -> Result<Tensor> {
    let options = DotOptions {
        input_precision: input_precision.map(|text| text.to_string()),
        allow_tf32,
        max_num_imprecise_acc,
        out_dtype,
    };
    cx.dot(&input, &other, &acc, &options)
}

#[allow(clippy::too_many_arguments, reason = "Triton's parameters")]
fn dot_scaled(
    cx: &mut Cx<'_>,
    lhs: Tensor,
    lhs_scale: Value,
    lhs_format: Rc<str>,
    rhs: Tensor,
    rhs_scale: Value,
    rhs_format: Rc<str>,
    acc: Value,
    fast_math: bool,
    lhs_k_pack: bool,
    rhs_k_pack: bool,
    out_dtype: Dtype,
) -> Result<Tensor> {
    let lhs = Scaled {
        tile: &lhs,
        scale: &lhs_scale,
        format: &lhs_format,
        k_pack: lhs_k_pack,
    };
    let rhs = Scaled {
        tile: &rhs,
        scale: &rhs_scale,
        format: &rhs_format,
        k_pack: rhs_k_pack,
    };
    cx.dot_scaled(&lhs, &rhs, &acc, fast_math, out_dtype)
}
