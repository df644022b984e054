"""Each program puts its result where a ticket says: another order of programs, another output."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, tickets_ptr, n):
    i = tl.program_id(0)
    x = tl.load(x_ptr + i)
    place = tl.atomic_add(tickets_ptr, 1)
    tl.store(y_ptr + place, x)


@triton.jit
def twin(x_ptr, y_ptr, tickets_ptr, n):
    i = tl.program_id(0)
    x = tl.load(x_ptr + i)
    tl.atomic_add(tickets_ptr, 1)
    tl.store(y_ptr + i, x)
