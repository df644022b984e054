import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    if n > 3:
        y = tl.load(x_ptr)
    tl.store(x_ptr + 1, y)
