import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr):
    offs = tl.arange(0, 64)
    both = x_ptr + y_ptr
    tl.store(both + offs, 0.0)
