"""Out-of-place transpose of a matrix, tile by tile, so that loads and stores both run along rows."""
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(x_ptr, y_ptr, n_rows, n_cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(axis=0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(axis=1) * BLOCK_N + tl.arange(0, BLOCK_N)
    x = tl.load(x_ptr + rows[:, None] * n_cols + cols[None, :],
                mask=(rows[:, None] < n_rows) & (cols[None, :] < n_cols))
    tl.store(y_ptr + cols[:, None] * n_rows + rows[None, :], tl.trans(x),
             mask=(cols[:, None] < n_cols) & (rows[None, :] < n_rows))
