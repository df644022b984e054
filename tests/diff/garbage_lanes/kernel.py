"""Lanes that the mask turned off count, times zero: zero here, NaN where the hardware leaves garbage."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    keep = (i < n).to(tl.float32)
    tl.store(y_ptr, tl.sum(x * keep, axis=0))  # tilescope: ignore[undefined-lane] times zero


@triton.jit
def twin(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr, tl.sum(tl.where(i < n, x, 0.0), axis=0))
