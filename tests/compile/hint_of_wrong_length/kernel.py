import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr):
    offs = tl.multiple_of(tl.arange(0, 64), (8, 8))
    tl.store(x_ptr + offs, 1.0)
