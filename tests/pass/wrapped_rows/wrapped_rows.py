"""Rows past the end wrap around to the first ones instead of being masked, with true hints about it."""
import triton
import triton.language as tl


@triton.jit
def wrapped_rows(x_ptr, y_ptr, n_rows, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(axis=0) * BLOCK_M + tl.arange(0, BLOCK_M)
    wrapped = tl.max_contiguous(tl.multiple_of(rows % n_rows, 8), 8)
    cols = tl.max_contiguous(tl.arange(0, BLOCK_N), BLOCK_N)
    x = tl.load(x_ptr + wrapped[:, None] * BLOCK_N + cols[None, :])
    tl.store(y_ptr + rows[:, None] * BLOCK_N + cols[None, :], x, mask=rows[:, None] < n_rows)
