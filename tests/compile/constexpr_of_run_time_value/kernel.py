import triton
import triton.language as tl


@triton.jit
def fill(x_ptr, WIDTH: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, WIDTH), 1.0)


@triton.jit
def kernel(x_ptr, n):
    fill(x_ptr, n)
