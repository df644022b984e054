"""A running total passes from block to block. The flag is raised before the total is stored. The twin stores first."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, flag_ptr, total_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offsets)
    before = 0.0
    if pid > 0:
        while tl.atomic_add(flag_ptr + pid - 1, 0, sem="acquire") == 0:
            pass
        before = tl.load(total_ptr + pid - 1)  # <- race-read-write
    tl.atomic_xchg(flag_ptr + pid, 1, sem="release")
    tl.store(total_ptr + pid, before + tl.sum(x))
    tl.store(y_ptr + offsets, tl.cumsum(x) + before)


@triton.jit
def twin(x_ptr, flag_ptr, total_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offsets)
    before = 0.0
    if pid > 0:
        while tl.atomic_add(flag_ptr + pid - 1, 0, sem="acquire") == 0:
            pass
        before = tl.load(total_ptr + pid - 1)
    tl.store(total_ptr + pid, before + tl.sum(x))
    tl.debug_barrier()
    tl.atomic_xchg(flag_ptr + pid, 1, sem="release")
    tl.store(y_ptr + offsets, tl.cumsum(x) + before)
