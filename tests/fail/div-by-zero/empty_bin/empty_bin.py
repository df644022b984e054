"""Integer means of bins, one of which is empty. The twin divides as well, but drops that lane."""
import triton
import triton.language as tl


@triton.jit
def fault(totals_ptr, counts_ptr, means_ptr, BLOCK_SIZE: tl.constexpr):
    bins = tl.arange(0, BLOCK_SIZE)
    total = tl.load(totals_ptr + bins)
    count = tl.load(counts_ptr + bins)
    mean = total // count  # <- div-by-zero
    tl.store(means_ptr + bins, mean)


@triton.jit
def twin(totals_ptr, counts_ptr, means_ptr, BLOCK_SIZE: tl.constexpr):
    bins = tl.arange(0, BLOCK_SIZE)
    total = tl.load(totals_ptr + bins)
    count = tl.load(counts_ptr + bins)
    mean = total // count
    tl.store(means_ptr + bins, tl.where(count > 0, mean, 0))
