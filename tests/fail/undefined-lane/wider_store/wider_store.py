"""The store's mask is wider than the load's: the last lanes hold nothing. In the twin both are the same, written twice."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, n, m, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, x * 0.0, mask=offsets < m)  # <- undefined-lane


@triton.jit
def twin(x_ptr, y_ptr, n, m, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, x * 0.0, mask=offsets < n)
