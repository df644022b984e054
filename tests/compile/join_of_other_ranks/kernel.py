import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, h_ptr):
    offs = tl.arange(0, 32)
    a = tl.load(x_ptr + offs)
    tile = a[:, None, None]
    tl.store(x_ptr + offs, tl.join(a, tile))
