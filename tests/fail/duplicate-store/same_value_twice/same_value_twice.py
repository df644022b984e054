"""A row of flags is set through a wrapped index: twice, but to the same value. The twin's index does not wrap."""
import triton
import triton.language as tl


@triton.jit
def fault(y_ptr, n, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    tl.store(y_ptr + lanes % n, lanes // BLOCK_SIZE + 1)  # <- duplicate-store


@triton.jit
def twin(y_ptr, n, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    tl.store(y_ptr + (n - 1 - lanes), lanes // BLOCK_SIZE + 1, mask=lanes < n)
