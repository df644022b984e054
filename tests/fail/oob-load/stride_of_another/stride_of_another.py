"""The row stride of the (padded) output is used to address the (dense) input."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(axis=0)
    cols = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * y_row_stride + cols, mask=cols < n_cols)  # <- oob-load
    tl.store(y_ptr + row * y_row_stride + cols, x, mask=cols < n_cols)


@triton.jit
def twin(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(axis=0)
    cols = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * x_row_stride + cols, mask=cols < n_cols)
    tl.store(y_ptr + row * y_row_stride + cols, x, mask=cols < n_cols)
