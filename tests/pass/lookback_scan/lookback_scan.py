"""A cumulative sum over many blocks in one launch: each program waits for its predecessor's flag, takes its running total,
and hands on its own. The exchange that sets the flag releases the total; the read-modify-write that sees it acquires."""
import triton
import triton.language as tl


@triton.jit
def lookback_scan(x_ptr, y_ptr, totals_ptr, flags_ptr, n, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0)
    before = 0
    if pid > 0:
        while tl.atomic_add(flags_ptr + pid - 1, 0) == 0:
            pass
        before = tl.load(totals_ptr + pid - 1)
    tl.store(totals_ptr + pid, before + tl.sum(x, axis=0))
    tl.atomic_xchg(flags_ptr + pid, 1)
    tl.store(y_ptr + offsets, before + tl.cumsum(x, axis=0), mask=offsets < n)
