"""Indices are loaded under a mask, and the gather by them is not masked. In the twin it is."""
import triton
import triton.language as tl


@triton.jit
def fault(index_ptr, table_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    index = tl.load(index_ptr + offsets, mask=offsets < n)
    row = tl.load(table_ptr + index)  # <- undefined-lane
    tl.store(y_ptr + offsets, row, mask=offsets < n)


@triton.jit
def twin(index_ptr, table_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    index = tl.load(index_ptr + offsets, mask=offsets < n)
    row = tl.load(table_ptr + index, mask=offsets < n)
    tl.store(y_ptr + offsets, row, mask=offsets < n)
