"""Causal attention scores: what is above the diagonal is left as it was. The twin stores -inf there."""
import triton
import triton.language as tl


@triton.jit
def fault(q_ptr, s_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    q = tl.load(q_ptr + row)
    s = q * cols
    tl.store(s_ptr + row * N + cols, s, mask=(cols <= row) & (cols < N))


@triton.jit
def twin(q_ptr, s_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    q = tl.load(q_ptr + row)
    s = tl.where(cols <= row, q * cols, float("-inf"))
    tl.store(s_ptr + row * N + cols, s, mask=cols < N)
