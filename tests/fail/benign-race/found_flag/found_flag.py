"""Programs that find a large value say so in one flag: all of them write 1. The twin takes a maximum atomically."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, flag_ptr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    if tl.max(tl.load(x_ptr + offsets)) > 20.0:
        tl.store(flag_ptr, 1)  # <- benign-race


@triton.jit
def twin(x_ptr, flag_ptr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    if tl.max(tl.load(x_ptr + offsets)) > 20.0:
        tl.atomic_max(flag_ptr, 1)
