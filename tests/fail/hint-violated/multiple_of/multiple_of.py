"""The start of each row is said to be a multiple of 16 elements; the row stride is 50."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, row_stride, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(axis=0)
    start = tl.multiple_of(row * row_stride, 16)  # <- hint-violated
    cols = tl.arange(0, BLOCK_SIZE)
    tl.store(y_ptr + row * BLOCK_SIZE + cols, tl.load(x_ptr + start + cols))


@triton.jit
def twin(x_ptr, y_ptr, row_stride, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(axis=0)
    start = tl.multiple_of(row * row_stride, 2)
    cols = tl.arange(0, BLOCK_SIZE)
    tl.store(y_ptr + row * BLOCK_SIZE + cols, tl.load(x_ptr + start + cols))
