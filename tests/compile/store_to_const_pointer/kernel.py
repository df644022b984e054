import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr: tl.const, y_ptr):
    offs = tl.arange(0, 64)
    y = tl.load(y_ptr + offs)
    tl.store(x_ptr + offs, y)
