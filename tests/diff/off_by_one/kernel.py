"""One element too many, which only shows where the size is no multiple of the block."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i <= n
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=mask) * 2, mask=mask)


@triton.jit
def twin(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=mask) * 2, mask=mask)
