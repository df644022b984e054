"""A histogram by atomics counts twice when it is run twice. The twin stores what it counts itself."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, bins_ptr, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    tl.atomic_add(bins_ptr + tl.load(x_ptr + lanes), 1)


@triton.jit
def twin(x_ptr, bins_ptr, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    tl.store(bins_ptr + tl.arange(0, 8), tl.histogram(tl.load(x_ptr + lanes), 8))
