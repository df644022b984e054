"""Each program waits for its predecessor's flag. The fault waits for its successor's, of which the last program has none."""
import triton
import triton.language as tl


@triton.jit
def fault(flags_ptr, order_ptr):
    pid = tl.program_id(axis=0)
    n = tl.num_programs(axis=0)
    tl.atomic_store(flags_ptr + pid, 1)
    tl.atomic_poll(flags_ptr + pid + 1, 1)  # <- oob-atomic
    tl.store(order_ptr + pid, n)


@triton.jit
def twin(flags_ptr, order_ptr):
    pid = tl.program_id(axis=0)
    n = tl.num_programs(axis=0)
    tl.atomic_store(flags_ptr + pid, 1)
    if pid + 1 < n:
        tl.atomic_poll(flags_ptr + pid + 1, 1)
    tl.store(order_ptr + pid, n)
