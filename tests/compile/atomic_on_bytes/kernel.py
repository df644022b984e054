import triton
import triton.language as tl


@triton.jit
def kernel(b_ptr):
    offs = tl.arange(0, 64)
    tl.atomic_add(b_ptr + offs, 1)
