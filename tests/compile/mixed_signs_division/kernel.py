import triton
import triton.language as tl


@triton.jit
def kernel(i_ptr, u_ptr):
    offs = tl.arange(0, 64)
    i = tl.load(i_ptr + offs)
    u = tl.load(u_ptr + offs)
    tl.store(i_ptr + offs, i // u)
