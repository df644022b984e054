"""Sums of truth values and of narrow integers are counted in 32 bits."""
import triton
import triton.language as tl


@triton.jit
def bool_sums(x_ptr, count_ptr, total_ptr, any_ptr, parity_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(axis=0)
    cols = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0)
    tl.store(count_ptr + row, tl.sum(x > 100, axis=0))
    tl.store(total_ptr + row, tl.sum(x, axis=0))
    tl.store(any_ptr + row, tl.max((x > 250).to(tl.int32), axis=0) != 0)
    tl.store(parity_ptr + row, tl.xor_sum(x.to(tl.int32) & 1, axis=0))
