"""A gather that guards its indices by an assertion; the fault computes them one too high."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    index = n - offsets
    tl.device_assert(index < n, "index past the end")  # <- assert-failed
    tl.store(y_ptr + offsets, tl.load(x_ptr + index, mask=index < n, other=0.0))


@triton.jit
def twin(x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    index = n - 1 - offsets
    tl.device_assert(index < n, "index past the end")
    tl.store(y_ptr + offsets, tl.load(x_ptr + index, mask=index < n, other=0.0))
