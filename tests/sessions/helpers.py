"""Helpers that call helpers."""
import triton
import triton.language as tl


@triton.jit
def square(v):
    w = v * v
    return w


@triton.jit
def length(a, b):
    s = square(a)
    t = square(b)
    return tl.sqrt(s + t)


@triton.jit
def lengths(a_ptr, b_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    a = tl.load(a_ptr + i, mask=mask)
    b = tl.load(b_ptr + i, mask=mask)
    r = length(a, b)
    tl.store(out_ptr + i, r, mask=i <= n)
