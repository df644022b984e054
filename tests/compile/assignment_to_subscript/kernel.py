import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr):
    x = tl.zeros((64,), dtype=tl.float32)
    x[0] = 1.0
    tl.store(x_ptr + tl.arange(0, 64), x)
