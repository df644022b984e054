"""One row seen as many, by stride 0, beside a matrix seen transposed, by its strides."""
import triton
import triton.language as tl


@triton.jit
def expanded_rows(x_ptr, row_ptr, y_ptr, x_stride_m, x_stride_n, row_stride_m, n_rows, n_cols,
                  BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(axis=0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    cols = tl.arange(0, BLOCK_N)[None, :]
    mask = (rows < n_rows) & (cols < n_cols)
    x = tl.load(x_ptr + rows * x_stride_m + cols * x_stride_n, mask=mask)
    row = tl.load(row_ptr + rows * row_stride_m + cols, mask=mask)
    tl.store(y_ptr + rows * n_cols + cols, x + row, mask=mask)
