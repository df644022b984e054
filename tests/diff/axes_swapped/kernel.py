"""The mask of a transposed tile compares rows with the number of columns."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, n_rows, n_cols, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    cols = tl.program_id(1) * B + tl.arange(0, B)
    x = tl.load(x_ptr + rows[:, None] * n_cols + cols[None, :], mask=(rows[:, None] < n_rows) & (cols[None, :] < n_cols))
    tl.store(y_ptr + cols[:, None] * n_rows + rows[None, :], tl.trans(x), mask=(cols[:, None] < n_rows) & (rows[None, :] < n_cols))


@triton.jit
def twin(x_ptr, y_ptr, n_rows, n_cols, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    cols = tl.program_id(1) * B + tl.arange(0, B)
    x = tl.load(x_ptr + rows[:, None] * n_cols + cols[None, :], mask=(rows[:, None] < n_rows) & (cols[None, :] < n_cols))
    tl.store(y_ptr + cols[:, None] * n_rows + rows[None, :], tl.trans(x), mask=(cols[:, None] < n_cols) & (rows[None, :] < n_rows))
