import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr):
    offs = tl.arange(0, 32)
    value = tl.zeros((64,), dtype=tl.float32)
    tl.store(x_ptr + offs, value)
