"""Eight 4-bit numbers of a word, shifted by 4 for each of 16 lanes: the last eight shift too far. The twin wraps."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    word = tl.load(x_ptr + lanes // 8)
    nibble = (word >> (lanes * 4)) & 15  # <- shift-out-of-range
    tl.store(y_ptr + lanes, nibble)


@triton.jit
def twin(x_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    word = tl.load(x_ptr + lanes // 8)
    nibble = (word >> (lanes % 8 * 4)) & 15
    tl.store(y_ptr + lanes, nibble)
