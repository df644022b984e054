"""A program waits for a flag by a relaxed atomic and reads what the flag announces. The twin acquires."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, flag_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    if tl.program_id(0) == 0:
        tl.store(y_ptr + offsets, tl.load(x_ptr + offsets))
        tl.debug_barrier()
        tl.atomic_xchg(flag_ptr, 1, sem="release")
    else:
        while tl.atomic_add(flag_ptr, 0, sem="relaxed") != 1:
            pass
        y = tl.load(y_ptr + offsets)  # <- race-read-write
        tl.store(y_ptr + BLOCK_SIZE + offsets, y + 1.0)


@triton.jit
def twin(x_ptr, flag_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    if tl.program_id(0) == 0:
        tl.store(y_ptr + offsets, tl.load(x_ptr + offsets))
        tl.debug_barrier()
        tl.atomic_xchg(flag_ptr, 1, sem="release")
    else:
        while tl.atomic_add(flag_ptr, 0, sem="acquire") != 1:
            pass
        y = tl.load(y_ptr + offsets)
        tl.store(y_ptr + BLOCK_SIZE + offsets, y + 1.0)
