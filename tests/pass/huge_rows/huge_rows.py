"""A tensor of 2^33 random elements costs only the pages that the kernel touches."""
import triton
import triton.language as tl


@triton.jit
def huge_rows(x_ptr, y_ptr, x_row_stride, n, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(axis=0).to(tl.int64)
    columns = tl.arange(0, BLOCK_SIZE)
    inside = columns < n
    x = tl.load(x_ptr + row * x_row_stride + columns, mask=inside)
    tl.store(y_ptr + row * n + columns, x, mask=inside)
