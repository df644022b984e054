"""Offsets that wrap around are said to be contiguous. They are so in groups of 4, since 20 is a multiple of 4."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, M: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    wrapped = tl.max_contiguous(offsets % M, BLOCK_SIZE)  # <- hint-violated
    tl.store(y_ptr + offsets, tl.load(x_ptr + wrapped))


@triton.jit
def twin(x_ptr, y_ptr, M: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    wrapped = tl.max_contiguous(offsets % M, 4)
    tl.store(y_ptr + offsets, tl.load(x_ptr + wrapped))
