import triton
import triton.language as tl


@triton.jit
def kernel(i_ptr):
    tl.atomic_add(i_ptr, 1, scope="warp")
