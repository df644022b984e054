"""A lock is taken and not given back. The twin gives it back."""
import triton
import triton.language as tl


@triton.jit
def fault(lock_ptr, y_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:  # <- deadlock
        pass
    tl.store(y_ptr, tl.load(y_ptr) + 1)


@triton.jit
def twin(lock_ptr, y_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(y_ptr, tl.load(y_ptr) + 1)
    tl.atomic_xchg(lock_ptr, 0)
