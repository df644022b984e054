"""Each block fills the first half of its row of a scratch buffer, and reads the whole of it. The twin reads the half that it
filled. The rows have nothing to do with each other: blocks run side by side."""
import triton
import triton.language as tl


@triton.jit
def fault(work_ptr, y_ptr, HALF: tl.constexpr):
    row = tl.program_id(0)
    half = tl.arange(0, HALF)
    tl.store(work_ptr + row * 2 * HALF + half, half + row)
    tl.debug_barrier()
    whole = tl.arange(0, 2 * HALF)
    total = tl.sum(tl.load(work_ptr + row * 2 * HALF + whole))
    tl.store(y_ptr + row, total)  # <- uninit-load


@triton.jit
def twin(work_ptr, y_ptr, HALF: tl.constexpr):
    row = tl.program_id(0)
    half = tl.arange(0, HALF)
    tl.store(work_ptr + row * 2 * HALF + half, half + row)
    tl.debug_barrier()
    total = tl.sum(tl.load(work_ptr + row * 2 * HALF + half))
    tl.store(y_ptr + row, total)
