import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, by, BLOCK: tl.constexpr, WRONG: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    if WRONG:
        by = by * BLOCK
    tl.store(y_ptr + i, x * by, mask=i < n)
