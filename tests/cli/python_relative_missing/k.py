import triton
import triton.language as tl
from .near import scaled


@triton.jit
def kernel(x_ptr):
    offs = tl.arange(0, 64)
    tl.store(x_ptr + offs, scaled(tl.load(x_ptr + offs)))
