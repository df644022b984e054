import triton
import triton.language as tl


@triton.jit
def clamp(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.where(i < n, tl.load(x_ptr + i), 0.0))
