"""Partial sums are added atomically to an output that nobody set to zero. In the twin the launch fills it."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    tl.atomic_add(y_ptr, tl.sum(tl.load(x_ptr + offsets)))  # <- uninit-load


@triton.jit
def twin(x_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    tl.atomic_add(y_ptr, tl.sum(tl.load(x_ptr + offsets)))
