"""Rows 2^30 bytes apart, found with 64-bit arithmetic: of 7 GB of storage, only the pages touched cost memory."""
import triton
import triton.language as tl


@triton.jit
def huge_tensor(x_ptr, y_ptr, row_stride, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(axis=0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    tl.store(x_ptr + row * row_stride + cols, (row + cols).to(tl.int8))
    tl.debug_barrier()
    tl.store(y_ptr + row * BLOCK_SIZE + cols, tl.load(x_ptr + row * row_stride + cols))
