"""Each program has ROWS rows and stops one short: every fourth row stays as it was."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, n_cols, ROWS: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    cols = tl.arange(0, BLOCK_SIZE)
    for i in range(ROWS - 1):
        row = tl.program_id(axis=0) * ROWS + i
        x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols)
        tl.store(y_ptr + row * n_cols + cols, x, mask=cols < n_cols)


@triton.jit
def twin(x_ptr, y_ptr, n_cols, ROWS: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    cols = tl.arange(0, BLOCK_SIZE)
    for i in range(ROWS):
        row = tl.program_id(axis=0) * ROWS + i
        x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols)
        tl.store(y_ptr + row * n_cols + cols, x, mask=cols < n_cols)
