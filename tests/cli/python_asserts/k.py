import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, N: tl.constexpr):
    offs = tl.arange(0, N)
    x = tl.load(x_ptr + offs)
    tl.device_assert(x < 6, "x is too large")
    tl.device_print("x", x)
