"""A mask loaded from memory that is itself partly undefined decides what is loaded next. The twin says false there."""
import triton
import triton.language as tl


@triton.jit
def fault(keep_ptr, x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    keep = tl.load(keep_ptr + offsets, mask=offsets < n) != 0
    x = tl.load(x_ptr + offsets, mask=keep, other=1.0)  # <- undefined-lane
    tl.store(y_ptr + offsets, x)


@triton.jit
def twin(keep_ptr, x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    keep = (tl.load(keep_ptr + offsets, mask=offsets < n) != 0) & (offsets < n)
    x = tl.load(x_ptr + offsets, mask=keep, other=1.0)
    tl.store(y_ptr + offsets, x)
