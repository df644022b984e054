"""Counts of integer values: every element adds 1 to its bin atomically. Values that have no bin are skipped."""
import triton
import triton.language as tl


@triton.jit
def histogram_kernel(x_ptr, counts_ptr, n_elements, n_bins, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    bins = tl.load(x_ptr + offsets, mask=offsets < n_elements, other=-1)
    tl.atomic_add(counts_ptr + bins, 1, mask=(bins >= 0) & (bins < n_bins), sem="relaxed")
