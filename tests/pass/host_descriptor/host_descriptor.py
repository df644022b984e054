"""Descriptors made by the host: a matrix product whose tensors are views, with blocks that reach past their ends."""
import triton
import triton.language as tl


@triton.jit
def host_descriptor(a_desc, b_desc, c_desc, n_inner, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    row = tl.program_id(axis=0) * BLOCK_M
    col = tl.program_id(axis=1) * BLOCK_N
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, n_inner, BLOCK_K):
        total = tl.dot(a_desc.load([row, k]), b_desc.load([col, k]).T, total)
    c_desc.store([row, col], total.to(tl.float16))
