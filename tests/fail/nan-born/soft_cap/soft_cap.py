"""Soft-capping by a tanh built from exp: infinity over infinity for large scores. The twin uses exp(-2x), which is 0."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + lanes) * 100.0
    e = tl.exp(2.0 * x)
    y = (e - 1.0) / (e + 1.0)  # <- nan-born
    tl.store(y_ptr + lanes, y)


@triton.jit
def twin(x_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + lanes) * 100.0
    e = tl.exp(-2.0 * x)
    y = (1.0 - e) / (1.0 + e)
    tl.store(y_ptr + lanes, y)
