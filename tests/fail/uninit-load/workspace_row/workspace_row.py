"""Of a workspace only the first rows are written, and one more is read. The twin reads what was written."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, work_ptr, y_ptr, ROWS: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    columns = tl.arange(0, BLOCK_SIZE)
    for row in range(ROWS):
        tl.store(work_ptr + row * BLOCK_SIZE + columns, tl.load(x_ptr + row * BLOCK_SIZE + columns))
    tl.debug_barrier()
    total = tl.zeros((BLOCK_SIZE,), dtype=tl.float32)
    for row in range(ROWS + 1):
        total += tl.load(work_ptr + row * BLOCK_SIZE + columns)
    tl.store(y_ptr + columns, total)  # <- uninit-load


@triton.jit
def twin(x_ptr, work_ptr, y_ptr, ROWS: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    columns = tl.arange(0, BLOCK_SIZE)
    for row in range(ROWS):
        tl.store(work_ptr + row * BLOCK_SIZE + columns, tl.load(x_ptr + row * BLOCK_SIZE + columns))
    tl.debug_barrier()
    total = tl.zeros((BLOCK_SIZE,), dtype=tl.float32)
    for row in range(ROWS):
        total += tl.load(work_ptr + row * BLOCK_SIZE + columns)
    tl.store(y_ptr + columns, total)
