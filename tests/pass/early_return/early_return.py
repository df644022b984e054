"""Programs without work return at once; the others do not reach the same code by a structured branch but by a jump."""
import triton
import triton.language as tl


@triton.jit
def early_return(x_ptr, y_ptr, n_rows, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(axis=0)
    if row >= n_rows:
        return
    offsets = row * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets) + 1)
