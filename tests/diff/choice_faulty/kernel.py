import triton
import triton.language as tl


@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr, MASKED: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if BLOCK < 128 or MASKED:
        x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    else:
        x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, 2 * x, mask=i < n)
