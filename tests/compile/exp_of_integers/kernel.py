import triton
import triton.language as tl


@triton.jit
def kernel(i_ptr, x_ptr):
    offs = tl.arange(0, 64)
    i = tl.load(i_ptr + offs)
    tl.store(x_ptr + offs, tl.exp(i))
