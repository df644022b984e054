import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    offs = tl.arange(0, 60)
    mask = tl.arange(0, 64) < size
    x = tl.load(x_ptr + tl.arange(0, 64), masks=mask)
    tl.store(x_ptr + tl.arange(0, 64), x)
