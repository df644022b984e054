"""Sums of floats by atomics differ in their last bits with the order, which is no fault (the twin). Which program takes
the running total at half the way is."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, z_ptr):
    pid = tl.program_id(0)
    before = tl.atomic_add(y_ptr, tl.load(x_ptr + pid))
    tl.store(z_ptr + pid, before)


@triton.jit
def twin(x_ptr, y_ptr, z_ptr):
    pid = tl.program_id(0)
    tl.atomic_add(y_ptr, tl.load(x_ptr + pid))
    tl.store(z_ptr + pid, 0.0)
