import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, bias_ptr):
    offs = tl.arange(0, 64)
    bias = tl.load(bias_ptr + offs)
    tl.store(x_ptr + offs, bias)
