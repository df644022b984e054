"""Compiled for a row stride that is a multiple of 16, and launched with another. Both functions are the same; the
launches differ."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, row_stride, BLOCK_SIZE: tl.constexpr):  # <- hint-violated
    row = tl.program_id(axis=0)
    cols = tl.arange(0, BLOCK_SIZE)
    tl.store(y_ptr + row * BLOCK_SIZE + cols, tl.load(x_ptr + row * row_stride + cols))


@triton.jit
def twin(x_ptr, y_ptr, row_stride, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(axis=0)
    cols = tl.arange(0, BLOCK_SIZE)
    tl.store(y_ptr + row * BLOCK_SIZE + cols, tl.load(x_ptr + row * row_stride + cols))
