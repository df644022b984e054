"""Sums added to one cell under a lock. The fault leaves the lock taken where there was nothing to add."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, sum_ptr, lock_ptr):
    x = tl.load(x_ptr + tl.program_id(axis=0))
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:  # <- deadlock
        pass
    if x != 0:
        tl.store(sum_ptr, tl.load(sum_ptr) + x)
        tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def twin(x_ptr, sum_ptr, lock_ptr):
    x = tl.load(x_ptr + tl.program_id(axis=0))
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    if x != 0:
        tl.store(sum_ptr, tl.load(sum_ptr) + x)
    tl.atomic_xchg(lock_ptr, 0)
