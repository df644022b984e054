import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr):
    offs = tl.arange(0, 16)[:, None] * 4 + tl.arange(0, 4)[None, :]
    x = tl.load(x_ptr + offs)
    a, b = tl.split(x)
    tl.store(x_ptr + tl.arange(0, 16), a + b)
