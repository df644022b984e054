"""A tensor descriptor made in the kernel: boxes that reach past the tensor read zeros there and do not write."""
import triton
import triton.language as tl


@triton.jit
def descriptor_copy(x_ptr, y_ptr, n_rows, n_cols, row_stride, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [n_rows, n_cols], [row_stride, 1], [BLOCK_M, BLOCK_N])
    y = tl.make_tensor_descriptor(y_ptr, [n_rows, n_cols], [row_stride, 1], [BLOCK_M, BLOCK_N])
    row = tl.program_id(axis=0) * BLOCK_M
    col = tl.program_id(axis=1) * BLOCK_N
    y.store([row, col], x.load([row, col]) * 2)
