"""Shares that programs add up under a lock: a row without weight gives 0 / 0. The twin divides by one there."""
import triton
import triton.language as tl


@triton.jit
def fault(w_ptr, sum_ptr, lock_ptr, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    w = tl.load(w_ptr + row * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE))
    total = tl.sum(w, axis=0)
    share = w / total  # <- nan-born
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    old = tl.load(sum_ptr + tl.arange(0, BLOCK_SIZE))
    tl.store(sum_ptr + tl.arange(0, BLOCK_SIZE), old + share)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def twin(w_ptr, sum_ptr, lock_ptr, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    w = tl.load(w_ptr + row * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE))
    total = tl.sum(w, axis=0)
    share = w / tl.where(total == 0.0, 1.0, total)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    old = tl.load(sum_ptr + tl.arange(0, BLOCK_SIZE))
    tl.store(sum_ptr + tl.arange(0, BLOCK_SIZE), old + share)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)
