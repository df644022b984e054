"""Online softmax whose first block is masked off whole: minus infinity less minus infinity. The twin takes 0 there."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    x = tl.where(lanes >= n, tl.load(x_ptr + lanes), float("-inf"))
    e = tl.exp(x - tl.max(x, axis=0))  # <- nan-born
    tl.store(y_ptr + lanes, e)


@triton.jit
def twin(x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    x = tl.where(lanes >= n, tl.load(x_ptr + lanes), float("-inf"))
    m = tl.max(x, axis=0)
    e = tl.exp(x - tl.where(m == float("-inf"), 0.0, m))
    tl.store(y_ptr + lanes, e)
