import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr):
    i = tl.arange(0, 16)
    j = tl.arange(0, 32)
    a = tl.load(x_ptr + i[:, None] * 32 + j[None, :])
    b = tl.load(y_ptr + i[:, None] * 16 + i[None, :])
    tl.store(x_ptr + i[:, None] * 16 + i[None, :], tl.dot(a, b))
