import triton
import triton.language as tl


@triton.jit
def double(x_ptr, y_ptr, last_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(last_ptr, tl.program_id(0))
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, 2 * x, mask=i < n)
