import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    for i in tl.static_range(n):
        tl.store(x_ptr + i, 1.0)
