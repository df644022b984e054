"""Offsets wrap at 12, so four lanes write where others have written. The twin masks them."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    tl.store(y_ptr + lanes % n, tl.load(x_ptr + lanes))  # <- duplicate-store


@triton.jit
def twin(x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    tl.store(y_ptr + lanes % n, tl.load(x_ptr + lanes), mask=lanes < n)
