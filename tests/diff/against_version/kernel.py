import triton
import triton.language as tl


@triton.jit
def before(x_ptr, y_ptr, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)
    mean_square = tl.sum(x * x, axis=0) / n_cols
    scale = 1 / tl.sqrt(mean_square + eps)
    y = x * scale
    tl.store(y_ptr + row * n_cols + cols, y, mask=mask)


@triton.jit
def fault(x_ptr, y_ptr, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)
    mean_square = tl.sum(x * x, axis=0) / n_cols
    scale = 1 / (tl.sqrt(mean_square) + eps)
    y = x * scale
    tl.store(y_ptr + row * n_cols + cols, y, mask=mask)


@triton.jit
def twin(x_ptr, y_ptr, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)
    mean_square = tl.sum(x * x, axis=0) / n_cols
    y = x * tl.rsqrt(mean_square + eps)
    tl.store(y_ptr + row * n_cols + cols, y, mask=mask)
