"""A helper that is called, not inlined: a second, private function in the module."""
import triton
import triton.language as tl


@triton.jit(noinline=True)
def row_start(row, row_stride):
    if row % 2 == 0:
        return row * row_stride
    return (row - 1) * row_stride


@triton.jit
def called_helper(x_ptr, y_ptr, row_stride, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(axis=0)
    cols = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row_start(row, row_stride) + cols)
    tl.store(y_ptr + row * BLOCK_SIZE + cols, x + row_start(row + 1, 100))
