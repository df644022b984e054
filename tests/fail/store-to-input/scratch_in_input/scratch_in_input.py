"""A row kernel keeps its centred row in the input, which the caller still needs."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(x_ptr + cols, mask=mask, other=0.0)
    centred = x - tl.sum(x, axis=0) / n_cols
    tl.store(x_ptr + cols, centred, mask=mask)  # <- store-to-input
    tl.store(y_ptr + cols, centred, mask=mask)


@triton.jit
def twin(x_ptr, y_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(x_ptr + cols, mask=mask, other=0.0)
    centred = x - tl.sum(x, axis=0) / n_cols
    tl.store(x_ptr + cols, centred, mask=mask & (cols < 0))  # no lane: nothing to report
    tl.store(y_ptr + cols, centred, mask=mask)
