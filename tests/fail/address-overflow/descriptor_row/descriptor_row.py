"""A descriptor whose row stride is a product in 32 bits that wraps around: 65537 * 65536 is 65536 modulo 2^32. The twin
computes it in 64 bits."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, heads, width, ROWS: tl.constexpr, COLS: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [ROWS, COLS], [heads * width, 1], [ROWS, COLS])
    tile = x.load([0, 0])  # <- address-overflow
    rows, cols = tl.arange(0, ROWS), tl.arange(0, COLS)
    tl.store(y_ptr + rows[:, None] * COLS + cols, tile)


@triton.jit
def twin(x_ptr, y_ptr, heads, width, ROWS: tl.constexpr, COLS: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [ROWS, COLS], [heads.to(tl.int64) * width, 1], [ROWS, COLS])
    tile = x.load([0, 0])
    rows, cols = tl.arange(0, ROWS), tl.arange(0, COLS)
    tl.store(y_ptr + rows[:, None] * COLS + cols, tile)
