"""A barrier waits for more arrivals than there are programs. The twin counts right."""
import triton
import triton.language as tl


@triton.jit
def fault(count_ptr, y_ptr):
    tl.atomic_add(count_ptr, 1)
    while tl.atomic_add(count_ptr, 0) < tl.num_programs(0) + 1:  # <- deadlock
        pass
    tl.store(y_ptr + tl.program_id(0), 1)


@triton.jit
def twin(count_ptr, y_ptr):
    tl.atomic_add(count_ptr, 1)
    while tl.atomic_add(count_ptr, 0) < tl.num_programs(0):
        pass
    tl.store(y_ptr + tl.program_id(0), 1)
