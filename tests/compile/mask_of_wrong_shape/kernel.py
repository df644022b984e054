import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    offs = tl.arange(0, 64)
    mask = tl.arange(0, 32) < n
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(x_ptr + offs, x)
