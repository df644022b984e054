import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr):
    STEP: tl.constexpr = 64 // BLOCK
    tl.store(x_ptr + tl.arange(0, 64) * STEP, 1.0)
