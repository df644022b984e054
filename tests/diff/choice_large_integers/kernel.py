import triton
import triton.language as tl


@triton.jit
def number(y_ptr, n, BLOCK: tl.constexpr, WRONG: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    first = 1 << 60
    if WRONG:
        first += BLOCK
    tl.store(y_ptr + i, i.to(tl.int64) + first, mask=i < n)
