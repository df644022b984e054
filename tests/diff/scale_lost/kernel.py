"""Scores are not divided by the root of the width of a head: no mask, no shape tells, only values."""
import triton
import triton.language as tl


@triton.jit
def fault(q_ptr, k_ptr, y_ptr, d, scale, D: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, D)
    q = tl.load(q_ptr + row * d + i, mask=i < d, other=0.0)
    k = tl.load(k_ptr + row * d + i, mask=i < d, other=0.0)
    tl.store(y_ptr + row, tl.exp(tl.sum(q * k, axis=0)))


@triton.jit
def twin(q_ptr, k_ptr, y_ptr, d, scale, D: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, D)
    q = tl.load(q_ptr + row * d + i, mask=i < d, other=0.0)
    k = tl.load(k_ptr + row * d + i, mask=i < d, other=0.0)
    tl.store(y_ptr + row, tl.exp(tl.sum(q * k, axis=0) * scale))
