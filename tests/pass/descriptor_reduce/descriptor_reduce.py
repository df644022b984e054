"""Blocks added into one matrix through a descriptor by all programs of a column of the grid; a signed maximum beside it."""
import triton
import triton.language as tl


@triton.jit
def descriptor_reduce(x_ptr, sum_ptr, top_ptr, n_rows, n_cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [n_rows, n_cols], [n_cols, 1], [BLOCK_M, BLOCK_N])
    total = tl.make_tensor_descriptor(sum_ptr, [BLOCK_M, n_cols], [n_cols, 1], [BLOCK_M, BLOCK_N])
    top = tl.make_tensor_descriptor(top_ptr, [BLOCK_M, n_cols], [n_cols, 1], [BLOCK_M, BLOCK_N])
    col = tl.program_id(axis=1) * BLOCK_N
    block = x.load([tl.program_id(axis=0) * BLOCK_M, col])
    total.atomic_add([0, col], block)
    top.atomic_max([0, col], block)
