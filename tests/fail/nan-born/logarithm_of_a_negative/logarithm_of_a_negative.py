"""The logarithm of what may be negative reaches the output. In the twin a maximum hides it before."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + lanes)
    tl.store(y_ptr + lanes, tl.log(x - 3.0) + 1.0, mask=lanes != 3)  # <- nan-born


@triton.jit
def twin(x_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + lanes)
    tl.store(y_ptr + lanes, tl.where(x > 3.0, tl.log(x - 3.0), 0.0), mask=lanes != 3)
