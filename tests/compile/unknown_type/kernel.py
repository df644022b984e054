import triton
import triton.language as tl


@triton.jit
def kernel(i_ptr):
    offs = tl.arange(0, 64)
    wide = tl.full((64,), 1, dtype=tl.float128)
    tl.store(i_ptr + offs, wide)
