"""A tile of 16 rows of 8, stored and loaded as a row of 128: every byte has the same number of lane, and still another
thread. The twin loads it as it was stored, in a loop around both."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, buf_ptr, y_ptr, steps, R: tl.constexpr, C: tl.constexpr):
    tile = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    flat = tl.arange(0, R * C)
    for i in range(steps):
        tl.store(buf_ptr + tile, tl.load(x_ptr + i * R * C + tile))
        tl.store(y_ptr + i * R * C + flat, tl.load(buf_ptr + flat))  # <- missing-barrier


@triton.jit
def twin(x_ptr, buf_ptr, y_ptr, steps, R: tl.constexpr, C: tl.constexpr):
    tile = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    for i in range(steps):
        tl.store(buf_ptr + tile, tl.load(x_ptr + i * R * C + tile))
        tl.store(y_ptr + i * R * C + tile, tl.load(buf_ptr + tile))
