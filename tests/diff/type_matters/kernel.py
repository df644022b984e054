"""Right in float32; in float16 the squares of numbers above 256 overflow."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0) * 300
    norm = tl.sqrt(tl.sum(x * x, axis=0).to(tl.float32))
    tl.store(y_ptr + row * n_cols + cols, x / norm, mask=cols < n_cols)


@triton.jit
def twin(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0).to(tl.float32) * 300
    norm = tl.sqrt(tl.sum(x * x, axis=0))
    tl.store(y_ptr + row * n_cols + cols, x / norm, mask=cols < n_cols)
