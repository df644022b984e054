"""Rows are scattered to places that an index names twice. In the twin the index is a permutation."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, index_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    to = tl.load(index_ptr + row)
    x = tl.load(x_ptr + row * BLOCK_SIZE + columns)
    tl.store(y_ptr + to * BLOCK_SIZE + columns, x)  # <- race-write-write


@triton.jit
def twin(x_ptr, index_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    to = tl.load(index_ptr + row)
    x = tl.load(x_ptr + row * BLOCK_SIZE + columns)
    tl.store(y_ptr + to * BLOCK_SIZE + columns, x)
