"""A product over K whose last tile is masked, without a value for the lanes past K. The twin has zeros there."""
import triton
import triton.language as tl


@triton.jit
def fault(a_ptr, b_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.arange(0, M)
    columns = tl.arange(0, N)
    inner = tl.arange(0, BLOCK_K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        mask = k + inner < K
        a = tl.load(a_ptr + rows[:, None] * K + (k + inner)[None, :], mask=mask[None, :])
        b = tl.load(b_ptr + (k + inner)[:, None] * N + columns[None, :], mask=mask[:, None], other=0.0)
        total = tl.dot(a, b, total)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total)  # <- undefined-lane


@triton.jit
def twin(a_ptr, b_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.arange(0, M)
    columns = tl.arange(0, N)
    inner = tl.arange(0, BLOCK_K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        mask = k + inner < K
        a = tl.load(a_ptr + rows[:, None] * K + (k + inner)[None, :], mask=mask[None, :], other=0.0)
        b = tl.load(b_ptr + (k + inner)[:, None] * N + columns[None, :], mask=mask[:, None], other=0.0)
        total = tl.dot(a, b, total)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total)
