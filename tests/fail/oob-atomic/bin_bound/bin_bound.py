"""A histogram whose bound is off by one: the value n_bins has no bin."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, counts_ptr, n_bins, BLOCK_SIZE: tl.constexpr):
    bins = tl.load(x_ptr + tl.arange(0, BLOCK_SIZE)) // 8
    tl.atomic_add(counts_ptr + bins, 1, mask=bins <= n_bins)  # <- oob-atomic


@triton.jit
def twin(x_ptr, counts_ptr, n_bins, BLOCK_SIZE: tl.constexpr):
    bins = tl.load(x_ptr + tl.arange(0, BLOCK_SIZE)) // 8
    tl.atomic_add(counts_ptr + bins, 1, mask=bins < n_bins)
