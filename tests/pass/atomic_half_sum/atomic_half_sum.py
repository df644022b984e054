"""Split-K partial sums of bfloat16 and float64, added by atomics with a cell per row."""
import triton
import triton.language as tl


@triton.jit
def atomic_half_sum(x_ptr, half_ptr, wide_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(axis=0)
    cols = tl.program_id(axis=1) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
    part = tl.sum(x, axis=0)
    tl.atomic_add(half_ptr + row, part.to(tl.bfloat16))
    tl.atomic_add(wide_ptr + row, part.to(tl.float64))
