"""Rows of a table picked by number and put elsewhere by number, through descriptors: a row number outside the table reads
zeros or writes nothing, and so do columns past the end."""
import triton
import triton.language as tl


@triton.jit
def descriptor_rows(table_ptr, from_ptr, to_ptr, y_ptr, n_table, n_out, n_cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    table = tl.make_tensor_descriptor(table_ptr, [n_table, n_cols], [n_cols, 1], [1, BLOCK_N])
    y = tl.make_tensor_descriptor(y_ptr, [n_out, n_cols], [n_cols, 1], [1, BLOCK_N])
    rows = tl.program_id(axis=0) * BLOCK_M + tl.arange(0, BLOCK_M)
    col = tl.program_id(axis=1) * BLOCK_N
    picked = table.gather(tl.load(from_ptr + rows), col)
    y.scatter(picked * 2, tl.load(to_ptr + rows), col)
