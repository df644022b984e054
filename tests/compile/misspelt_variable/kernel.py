import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    offsets = tl.arange(0, 64)
    tl.store(x_ptr + offset, 1.0, mask=offsets < n)
