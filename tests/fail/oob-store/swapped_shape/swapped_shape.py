"""A tensor descriptor made in the kernel: the fault gives its height and width in the wrong order."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, n_rows, n_cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [n_rows, n_cols], [n_cols, 1], [BLOCK_M, BLOCK_N])
    y = tl.make_tensor_descriptor(y_ptr, [n_cols, n_rows], [n_cols, 1], [BLOCK_M, BLOCK_N])
    row = tl.program_id(axis=0) * BLOCK_M
    col = tl.program_id(axis=1) * BLOCK_N
    y.store([row, col], x.load([row, col]) + 1)  # <- oob-store


@triton.jit
def twin(x_ptr, y_ptr, n_rows, n_cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [n_rows, n_cols], [n_cols, 1], [BLOCK_M, BLOCK_N])
    y = tl.make_tensor_descriptor(y_ptr, [n_rows, n_cols], [n_cols, 1], [BLOCK_M, BLOCK_N])
    row = tl.program_id(axis=0) * BLOCK_M
    col = tl.program_id(axis=1) * BLOCK_N
    y.store([row, col], x.load([row, col]) + 1)
