"""Each program takes a ticket and writes there: who comes first depends on the order. The twin writes by its program id."""
import triton
import triton.language as tl


@triton.jit
def fault(counter_ptr, y_ptr):
    pid = tl.program_id(0)
    place = tl.atomic_add(counter_ptr, 1)
    tl.store(y_ptr + place, pid)


@triton.jit
def twin(counter_ptr, y_ptr):
    pid = tl.program_id(0)
    tl.atomic_add(counter_ptr, 1)
    tl.store(y_ptr + pid, pid)
