"""The most negative integer over -1 has no result."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offsets)
    lowest = -2147483648
    quotient = tl.full([BLOCK_SIZE], lowest, tl.int32) // x  # <- div-by-zero
    tl.store(y_ptr + offsets, quotient)


@triton.jit
def twin(x_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offsets)
    lowest = -2147483647
    quotient = tl.full([BLOCK_SIZE], lowest, tl.int32) // x
    tl.store(y_ptr + offsets, quotient)
