"""Tiles of causal scores, of which only those below the diagonal are visited. The twin visits all tiles."""
import triton
import triton.language as tl


@triton.jit
def fault(q_ptr, s_ptr, N, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    rows = i * BLOCK + tl.arange(0, BLOCK)
    q = tl.load(q_ptr + rows)
    for j in range(0, i + 1):
        cols = j * BLOCK + tl.arange(0, BLOCK)
        tl.store(s_ptr + rows[:, None] * N + cols[None, :], q[:, None] * cols[None, :])


@triton.jit
def twin(q_ptr, s_ptr, N, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    rows = i * BLOCK + tl.arange(0, BLOCK)
    q = tl.load(q_ptr + rows)
    for j in range(0, N // BLOCK):
        cols = j * BLOCK + tl.arange(0, BLOCK)
        tl.store(s_ptr + rows[:, None] * N + cols[None, :], q[:, None] * cols[None, :])
