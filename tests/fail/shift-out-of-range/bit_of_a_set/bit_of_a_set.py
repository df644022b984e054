"""A bit is set by shifting one by an index that can be -1 for none. The twin drops those lanes."""
import triton
import triton.language as tl


@triton.jit
def fault(index_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    index = tl.load(index_ptr + lanes)
    bits = tl.full((BLOCK_SIZE,), 1, tl.int32) << index  # <- shift-out-of-range
    tl.store(y_ptr + lanes, bits)


@triton.jit
def twin(index_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    index = tl.load(index_ptr + lanes)
    bits = tl.full((BLOCK_SIZE,), 1, tl.int32) << index
    tl.store(y_ptr + lanes, tl.where(index < 0, 0, bits))
