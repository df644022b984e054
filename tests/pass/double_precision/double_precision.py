"""A sum of squares in float64, over columns, with 64-bit offsets."""
import triton
import triton.language as tl


@triton.jit
def double_precision(x_ptr, y_ptr, n_rows, n_cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    cols = (tl.program_id(axis=0) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    acc = tl.zeros([BLOCK_N], dtype=tl.float64)
    for first in range(0, n_rows, BLOCK_M):
        rows = first + tl.arange(0, BLOCK_M)
        mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
        x = tl.load(x_ptr + rows[:, None] * n_cols + cols[None, :], mask=mask, other=0.0)
        acc += tl.sum(x * x, axis=0)
    tl.store(y_ptr + cols, acc, mask=cols < n_cols)
