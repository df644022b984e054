"""The functions of tl.math on float32, each to its own row."""
import triton
import triton.language as tl


@triton.jit
def elementwise_math(x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n
    x = tl.load(x_ptr + cols, mask=mask, other=1.0)
    tl.store(y_ptr + 0 * n + cols, tl.exp(x), mask=mask)
    tl.store(y_ptr + 1 * n + cols, tl.log(x), mask=mask)
    tl.store(y_ptr + 2 * n + cols, tl.sqrt(x), mask=mask)
    tl.store(y_ptr + 3 * n + cols, tl.rsqrt(x), mask=mask)
    tl.store(y_ptr + 4 * n + cols, tl.sin(x), mask=mask)
    tl.store(y_ptr + 5 * n + cols, tl.cos(x), mask=mask)
    tl.store(y_ptr + 6 * n + cols, tl.erf(x), mask=mask)
    tl.store(y_ptr + 7 * n + cols, tl.exp2(-x), mask=mask)
    tl.store(y_ptr + 8 * n + cols, tl.log2(x), mask=mask)
    tl.store(y_ptr + 9 * n + cols, tl.floor(x), mask=mask)
    tl.store(y_ptr + 10 * n + cols, tl.abs(1 - x), mask=mask)
    tl.store(y_ptr + 11 * n + cols, tl.sigmoid(x), mask=mask)
    tl.store(y_ptr + 12 * n + cols, tl.clamp(x, 0.5, 2.0), mask=mask)
    tl.store(y_ptr + 13 * n + cols, tl.fma(x, x, 1.0), mask=mask)
    tl.store(y_ptr + 14 * n + cols, tl.div_rn(1.0, x), mask=mask)
    tl.store(y_ptr + 15 * n + cols, tl.sqrt_rn(x), mask=mask)
