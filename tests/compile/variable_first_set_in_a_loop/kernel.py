import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    for i in range(n):
        last = tl.load(x_ptr + i)
    tl.store(x_ptr, last)
