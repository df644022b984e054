import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    offs = tl.arange(0, 64)
    for i in range(offs):
        tl.store(x_ptr + offs, i)
