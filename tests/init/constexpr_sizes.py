"""Sizes, strides and eps as compile-time parameters; a row a program."""
import triton
import triton.language as tl


@triton.jit
def rms(
    Y,
    Y_row_stride: tl.constexpr,
    X,
    X_row_stride: tl.constexpr,
    W,
    r,
    r_row_stride: tl.constexpr,
    n_cols: tl.constexpr,
    eps: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    Y += row * Y_row_stride
    X += row * X_row_stride
    r += row * r_row_stride
    x = tl.load(X + cols, mask=mask, other=0).to(tl.float32)
    inverse = tl.math.rsqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    tl.store(r, inverse)
    tl.store(Y + cols, x * inverse * tl.load(W + cols, mask=mask, other=0), mask=mask)
