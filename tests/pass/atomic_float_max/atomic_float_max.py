"""Atomic maximum and minimum of floats, which Triton builds from integer atomics on the sign's two sides."""
import triton
import triton.language as tl


@triton.jit
def atomic_float_max(x_ptr, max_ptr, min_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.atomic_max(max_ptr + offsets * 0, x, mask=mask)
    tl.atomic_min(min_ptr + offsets * 0, x, mask=mask)
