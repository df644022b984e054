import triton
import triton.language as tl


@triton.jit
def pair(x):
    return x, x + 1


@triton.jit
def kernel(x_ptr):
    a, b, c = pair(tl.load(x_ptr))
    tl.store(x_ptr, a + b + c)
