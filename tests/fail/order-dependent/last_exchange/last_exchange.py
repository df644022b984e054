"""The last program to exchange its number leaves it: which one is that? The twin leaves the largest."""
import triton
import triton.language as tl


@triton.jit
def fault(y_ptr):
    tl.atomic_xchg(y_ptr, tl.program_id(0))


@triton.jit
def twin(y_ptr):
    tl.atomic_max(y_ptr, tl.program_id(0))
