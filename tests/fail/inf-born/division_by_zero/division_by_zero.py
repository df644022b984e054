"""One over a count that is zero. The twin divides by at least one."""
import triton
import triton.language as tl


@triton.jit
def fault(n_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    n = tl.load(n_ptr + lanes).to(tl.float32)
    tl.store(y_ptr + lanes, 1.0 / n)  # <- inf-born


@triton.jit
def twin(n_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    n = tl.load(n_ptr + lanes).to(tl.float32)
    tl.store(y_ptr + lanes, 1.0 / tl.maximum(n, 1.0))
