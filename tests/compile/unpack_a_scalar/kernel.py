import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr):
    a, b = tl.load(x_ptr)
    tl.store(x_ptr, a + b)
