import triton
import triton.language as tl


@triton.jit
def rows(x_ptr, y_ptr, n, m, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    last = (n.to(tl.int64) - 1) * m + m - 1
    tl.store(y_ptr + i, tl.load(x_ptr + last - 0 * i))
