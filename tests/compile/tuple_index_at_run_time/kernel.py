import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    pair = (1.0, 2.0)
    tl.store(x_ptr, pair[n])
