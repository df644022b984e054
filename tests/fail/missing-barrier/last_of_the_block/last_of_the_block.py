"""The last partial sum of a block, read back by all of its threads. The twin releases a counter first, which orders what
was stored before it."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, sums_ptr, total_ptr, done_ptr, B: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * B + tl.arange(0, B)
    tl.store(sums_ptr + offs, tl.cumsum(tl.load(x_ptr + offs), 0))
    tl.atomic_add(done_ptr, 1, sem="relaxed")
    total = tl.load(sums_ptr + pid * B + B - 1)  # <- missing-barrier
    tl.store(total_ptr + pid, total)


@triton.jit
def twin(x_ptr, sums_ptr, total_ptr, done_ptr, B: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * B + tl.arange(0, B)
    tl.store(sums_ptr + offs, tl.cumsum(tl.load(x_ptr + offs), 0))
    tl.atomic_add(done_ptr, 1, sem="release")
    total = tl.load(sums_ptr + pid * B + B - 1)
    tl.store(total_ptr + pid, total)
