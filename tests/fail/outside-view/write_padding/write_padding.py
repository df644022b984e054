"""The output is the first 30 columns of a wider buffer; the kernel writes all 32 columns of its block."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(axis=0)
    cols = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
    tl.store(y_ptr + row * y_row_stride + cols, x)  # <- outside-view


@triton.jit
def twin(x_ptr, y_ptr, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(axis=0)
    cols = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
    tl.store(y_ptr + row * y_row_stride + cols, x, mask=cols < n_cols)
