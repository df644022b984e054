import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    if n > 3:
        y = tl.load(x_ptr + tl.arange(0, 64))
    else:
        y = 0.0
    tl.store(x_ptr + tl.arange(0, 64), y)
