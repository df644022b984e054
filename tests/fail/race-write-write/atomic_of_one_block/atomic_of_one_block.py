"""A flag is raised by an atomic whose scope is one block: it orders no programs. The twin's scope is the device."""
import triton
import triton.language as tl


@triton.jit
def fault(counter_ptr, y_ptr):
    ticket = tl.atomic_add(counter_ptr, 1, scope="cta")  # <- race-write-write
    tl.store(y_ptr + tl.program_id(0), ticket)


@triton.jit
def twin(counter_ptr, y_ptr):
    ticket = tl.atomic_add(counter_ptr, 1, scope="gpu")
    tl.store(y_ptr + tl.program_id(0), ticket)
