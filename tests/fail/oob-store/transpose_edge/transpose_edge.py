"""A transpose that checks the output's columns but not its rows."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, n_rows, n_cols, BLOCK_SIZE: tl.constexpr):
    rows = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    cols = tl.program_id(axis=1) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
    x = tl.load(x_ptr + rows[:, None] * n_cols + cols[None, :], mask=mask, other=0.0)
    y_ptrs = y_ptr + cols[:, None] * n_rows + rows[None, :]
    tl.store(y_ptrs, tl.trans(x), mask=rows[None, :] < n_rows)  # <- oob-store


@triton.jit
def twin(x_ptr, y_ptr, n_rows, n_cols, BLOCK_SIZE: tl.constexpr):
    rows = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    cols = tl.program_id(axis=1) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
    x = tl.load(x_ptr + rows[:, None] * n_cols + cols[None, :], mask=mask, other=0.0)
    y_ptrs = y_ptr + cols[:, None] * n_rows + rows[None, :]
    tl.store(y_ptrs, tl.trans(x), mask=(cols[:, None] < n_cols) & (rows[None, :] < n_rows))
