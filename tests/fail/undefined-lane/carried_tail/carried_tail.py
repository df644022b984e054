"""The last chunk of a row is loaded without a value past the end and added up. The twin adds only what is there."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    total = tl.zeros((BLOCK_SIZE,), dtype=tl.float32)
    for start in range(0, n, BLOCK_SIZE):
        offsets = start + tl.arange(0, BLOCK_SIZE)
        x = tl.load(x_ptr + offsets, mask=offsets < n)
        total += x
    tl.store(y_ptr, tl.sum(total))  # <- undefined-lane


@triton.jit
def twin(x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    total = tl.zeros((BLOCK_SIZE,), dtype=tl.float32)
    for start in range(0, n, BLOCK_SIZE):
        offsets = start + tl.arange(0, BLOCK_SIZE)
        x = tl.load(x_ptr + offsets, mask=offsets < n)
        total += tl.where(offsets < n, x, 0.0)
    tl.store(y_ptr, tl.sum(total))
