"""Every block waits for the flag of the one after it; the last waits for nobody's. The twin's last does not wait."""
import triton
import triton.language as tl


@triton.jit
def fault(flag_ptr, y_ptr):
    pid = tl.program_id(0)
    while tl.load(flag_ptr + pid + 1, volatile=True) == 0:  # <- deadlock
        pass
    tl.atomic_xchg(flag_ptr + pid, 1)
    tl.store(y_ptr + pid, pid)


@triton.jit
def twin(flag_ptr, y_ptr):
    pid = tl.program_id(0)
    if pid < tl.num_programs(0) - 1:
        while tl.load(flag_ptr + pid + 1, volatile=True) == 0:
            pass
    tl.atomic_xchg(flag_ptr + pid, 1)
    tl.store(y_ptr + pid, pid)
