import triton
import triton.language as tl


BLOCK = 64


@triton.jit
def kernel(x_ptr):
    offs = tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, 1.0)
