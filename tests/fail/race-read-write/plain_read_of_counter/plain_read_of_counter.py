"""A counter is added to atomically and read by a plain load. The twin reads it by an atomic."""
import triton
import triton.language as tl


@triton.jit
def fault(counter_ptr, y_ptr):
    tl.atomic_add(counter_ptr, 1)  # <- race-read-write
    seen = tl.load(counter_ptr)
    tl.store(y_ptr + tl.program_id(0), seen)


@triton.jit
def twin(counter_ptr, y_ptr):
    tl.atomic_add(counter_ptr, 1)
    seen = tl.atomic_add(counter_ptr, 0)
    tl.store(y_ptr + tl.program_id(0), seen)
