import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    offs = tl.arange(0, 64)
    x = tl.load(x_ptr + offs, mask=x_ptr + offs, other=0.0)
    tl.store(x_ptr + offs, x)
