"""Blocks put a row into a scratch buffer that nobody filled, and read the neighbour's: whether it is there by then, nobody
knows. That is a race, and no read of uninitialised storage as well. The twin reads its own row."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, work_ptr, y_ptr, N: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    lanes = tl.arange(0, BLOCK_SIZE)
    tl.store(work_ptr + pid * BLOCK_SIZE + lanes, tl.load(x_ptr + pid * BLOCK_SIZE + lanes))
    neighbour = (pid + N - 1) % N
    y = tl.load(work_ptr + neighbour * BLOCK_SIZE + lanes)  # <- race-read-write
    tl.store(y_ptr + pid * BLOCK_SIZE + lanes, y)


@triton.jit
def twin(x_ptr, work_ptr, y_ptr, N: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    lanes = tl.arange(0, BLOCK_SIZE)
    tl.store(work_ptr + pid * BLOCK_SIZE + lanes, tl.load(x_ptr + pid * BLOCK_SIZE + lanes))
    tl.debug_barrier()
    y = tl.load(work_ptr + pid * BLOCK_SIZE + lanes)
    tl.store(y_ptr + pid * BLOCK_SIZE + lanes, y)
