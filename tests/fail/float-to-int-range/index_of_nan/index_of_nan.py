"""A bin is computed from a value that may be NaN and used as an index. The twin masks NaN."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, bins_ptr, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + lanes)
    bin = x.to(tl.int32)  # <- float-to-int-range
    tl.atomic_add(bins_ptr + bin, 1)


@triton.jit
def twin(x_ptr, bins_ptr, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + lanes)
    bin = x.to(tl.int32)
    tl.atomic_add(bins_ptr + bin, 1, mask=x == x)
