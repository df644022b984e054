"""Rows of the input are taken for as long as those of the output: right for any matrix without padding."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, x_stride, y_stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * y_stride + cols, mask=mask)
    tl.store(y_ptr + row * y_stride + cols, x * x, mask=mask)


@triton.jit
def twin(x_ptr, y_ptr, x_stride, y_stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * x_stride + cols, mask=mask)
    tl.store(y_ptr + row * y_stride + cols, x * x, mask=mask)
