"""The last block of a row reads into the padding between rows, and multiplies what lies there by zero."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + cols)
    keep = (cols < n_cols).to(tl.float32)
    tl.store(y_ptr + row, tl.sum(x * keep, axis=0))


@triton.jit
def twin(x_ptr, y_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + cols, mask=cols < n_cols, other=0.0)
    tl.store(y_ptr + row, tl.sum(x, axis=0))
