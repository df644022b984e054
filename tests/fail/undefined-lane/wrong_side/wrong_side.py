"""`where` takes the loaded value in the very lanes that have none. The twin has the sides right."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    valid = offsets < n
    x = tl.load(x_ptr + offsets, mask=valid)
    tl.store(y_ptr + offsets, tl.where(valid, 0.0, x))  # <- undefined-lane


@triton.jit
def twin(x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    valid = offsets < n
    x = tl.load(x_ptr + offsets, mask=valid)
    tl.store(y_ptr + offsets, tl.where(valid, x, 0.0))
