import triton
import triton.language as tl


@triton.jit
def pick(x_ptr, n):
    if n > 3:
        return tl.load(x_ptr)
    return 0


@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, pick(x_ptr, n))
