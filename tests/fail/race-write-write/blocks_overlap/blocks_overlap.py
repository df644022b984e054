"""Blocks begin every 12 elements and are 16 long: neighbours write four elements both. The twin masks them."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, STEP: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    lanes = tl.arange(0, BLOCK_SIZE)
    offsets = pid * STEP + lanes
    x = tl.load(x_ptr + offsets)
    tl.store(y_ptr + offsets, x + pid)  # <- race-write-write


@triton.jit
def twin(x_ptr, y_ptr, STEP: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    lanes = tl.arange(0, BLOCK_SIZE)
    offsets = pid * STEP + lanes
    x = tl.load(x_ptr + offsets)
    tl.store(y_ptr + offsets, x + pid, mask=(lanes < STEP) | (pid == tl.num_programs(0) - 1))
