"""Cumulative sum along rows of any length: a scan inside each block, and the sum so far carried from block to block."""
import triton
import triton.language as tl


@triton.jit
def cumsum_kernel(x_ptr, y_ptr, row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(axis=0)
    carry = 0.0
    for start in range(0, n_cols, BLOCK_SIZE):
        cols = start + tl.arange(0, BLOCK_SIZE)
        mask = cols < n_cols
        x = tl.load(x_ptr + row * row_stride + cols, mask=mask, other=0.0).to(tl.float32)
        tl.store(y_ptr + row * row_stride + cols, carry + tl.cumsum(x, axis=0), mask=mask)
        carry += tl.sum(x, axis=0)
