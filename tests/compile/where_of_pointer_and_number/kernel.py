import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr):
    offs = tl.arange(0, 64)
    p = tl.where(offs < 32, x_ptr + offs, offs)
    tl.store(p, 0.0)
