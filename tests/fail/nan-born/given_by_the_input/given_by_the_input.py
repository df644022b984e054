"""Zero times what is infinite is made here; NaN that the input holds are not (the twin, which copies them)."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + lanes)
    tl.store(y_ptr + lanes, x / (lanes * 0.0))  # <- nan-born


@triton.jit
def twin(x_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + lanes)
    tl.store(y_ptr + lanes, x * 2.0 + 1.0)
