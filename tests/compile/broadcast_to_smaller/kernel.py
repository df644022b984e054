import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    y = tl.broadcast_to(x, (32,))
    tl.store(x_ptr + tl.arange(0, 32), y)
