import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    width: tl.constexpr = 32
    if n > 3:
        width: tl.constexpr = 64
    tl.store(x_ptr + tl.arange(0, width), 1.0)
