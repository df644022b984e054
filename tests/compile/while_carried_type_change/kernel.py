import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    i = n
    while i > 0:
        i = i / 2
    tl.store(x_ptr, i)
