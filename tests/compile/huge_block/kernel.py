import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr):
    tile = tl.zeros((2048, 2048), dtype=tl.float32)
    tl.store(x_ptr, tl.sum(tile))
