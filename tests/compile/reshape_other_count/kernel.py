import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    square = tl.reshape(x, (8, 4))
    tl.store(x_ptr + tl.arange(0, 8), tl.sum(square, axis=1))
