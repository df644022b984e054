"""A lock guards a sum, but is given back by a relaxed exchange: the next owner may not see the sum. The twin releases."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, lock_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK_SIZE + offsets)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    total = tl.load(y_ptr + offsets)
    tl.store(y_ptr + offsets, total + x)  # <- race-write-write
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0, sem="relaxed")


@triton.jit
def twin(x_ptr, lock_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK_SIZE + offsets)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    total = tl.load(y_ptr + offsets)
    tl.store(y_ptr + offsets, total + x)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0, sem="release")
