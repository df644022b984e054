import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    offs = tl.arange(0, 64)
    y = tl.load(x_ptr + offs) if n > 3 else 0
    tl.store(x_ptr + offs, y)
