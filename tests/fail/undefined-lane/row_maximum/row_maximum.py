"""The largest value of a row, whose masked-off lanes have no value. The twin gives them the smallest one."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * n_cols + columns, mask=columns < n_cols)
    tl.store(y_ptr + row, tl.max(x, axis=0))  # <- undefined-lane


@triton.jit
def twin(x_ptr, y_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * n_cols + columns, mask=columns < n_cols, other=float("-inf"))
    tl.store(y_ptr + row, tl.max(x, axis=0))
