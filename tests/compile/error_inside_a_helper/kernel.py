import triton
import triton.language as tl


@triton.jit
def mix(a, b):
    return a + b


@triton.jit
def rows(x_ptr, n):
    return mix(tl.arange(0, 64), tl.arange(0, 16)) + n


@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr + tl.arange(0, 64), rows(x_ptr, n))
