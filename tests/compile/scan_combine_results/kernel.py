import triton
import triton.language as tl


@triton.jit
def combine(a, b):
    return a, b


@triton.jit
def kernel(x_ptr):
    offs = tl.arange(0, 64)
    x = tl.load(x_ptr + offs)
    tl.store(x_ptr + offs, tl.associative_scan(x, 0, combine))
