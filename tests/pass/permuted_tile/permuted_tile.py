"""Three dimensions: permute, reshape, and broadcast."""
import triton
import triton.language as tl


@triton.jit
def permuted_tile(x_ptr, y_ptr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, A * B * C))
    y = tl.permute(tl.reshape(x, (A, B, C)), (2, 0, 1))
    y += tl.arange(0, C)[:, None, None]
    tl.store(y_ptr + tl.arange(0, A * B * C), tl.ravel(y))
