"""Sorting networks on values with many ties, signed zeros and infinities (Triton's interpreter made the expected files)."""
import triton
import triton.language as tl


@triton.jit
def sorting(x_ptr, out_ptr, top_ptr, N: tl.constexpr, M: tl.constexpr):
    rows = tl.arange(0, M)
    cols = tl.arange(0, N)
    at = rows[:, None] * N + cols[None, :]
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.sort(x))
    tl.store(out_ptr + M * N + at, tl.sort(x, 1, True))
    tl.store(out_ptr + 2 * M * N + at, tl.flip(x))
    tl.store(out_ptr + 3 * M * N + at, tl.flip(x, 0))
    half = tl.where(cols[None, :] < N // 2, tl.sort(x), tl.sort(x, descending=True))
    tl.store(out_ptr + 4 * M * N + at, tl.bitonic_merge(half))
    first = rows[:, None] * 8 + tl.arange(0, 8)[None, :]
    tl.store(top_ptr + first, tl.topk(x, 8))
    tl.store(top_ptr + 8 * M + first, tl.topk(x, 8, descending=False))
