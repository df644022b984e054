import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr):
    offs = tl.aranges(0, 64)
    tl.store(x_ptr + offs, 1.0)
