"""A kernel that rewrites its argument, and prints one value."""
import triton
import triton.language as tl


@triton.jit
def in_place(x_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.device_print("program", tl.program_id(axis=0))
    tl.store(x_ptr + offsets, tl.maximum(x, 0.0), mask=mask)
