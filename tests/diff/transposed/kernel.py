"""A matrix product that takes its first matrix for row-major, whatever the strides say."""
import triton
import triton.language as tl


@triton.jit
def fault(a_ptr, y_ptr, M, K, stride_m, stride_k, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    ks = tl.arange(0, BLOCK_K)
    mask = (rows[:, None] < M) & (ks[None, :] < K)
    a = tl.load(a_ptr + rows[:, None] * K + ks[None, :], mask=mask, other=0.0)
    tl.store(y_ptr + rows, tl.sum(a, axis=1), mask=rows < M)


@triton.jit
def twin(a_ptr, y_ptr, M, K, stride_m, stride_k, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    ks = tl.arange(0, BLOCK_K)
    mask = (rows[:, None] < M) & (ks[None, :] < K)
    a = tl.load(a_ptr + rows[:, None] * stride_m + ks[None, :] * stride_k, mask=mask, other=0.0)
    tl.store(y_ptr + rows, tl.sum(a, axis=1), mask=rows < M)
