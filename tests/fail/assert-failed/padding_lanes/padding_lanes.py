"""An assertion on loaded values: without the mask it also judges the padding."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.device_assert(x > 0, "x must be positive")  # <- assert-failed
    tl.store(y_ptr + offsets, tl.log(x), mask=mask)


@triton.jit
def twin(x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.device_assert(x > 0, "x must be positive", mask=mask)
    tl.store(y_ptr + offsets, tl.log(x), mask=mask)
