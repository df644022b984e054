"""Sums of blocks added to one cell under a lock: compare-and-swap to take it, exchange to release it."""
import triton
import triton.language as tl


@triton.jit
def spin_lock(x_ptr, sum_ptr, lock_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    partial = tl.sum(tl.load(x_ptr + offsets, mask=offsets < n, other=0.0), axis=0)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(sum_ptr, tl.load(sum_ptr) + partial)
    tl.atomic_xchg(lock_ptr, 0)
