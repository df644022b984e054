"""Counts inside each block, then one atomic add per bin and block."""
import triton
import triton.language as tl


@triton.jit
def block_histogram(x_ptr, counts_ptr, n, N_BINS: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0)
    tl.atomic_add(counts_ptr + tl.arange(0, N_BINS), tl.histogram(x, N_BINS, mask=mask), sem="relaxed")
