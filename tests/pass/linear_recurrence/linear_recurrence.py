"""h[t] = a * h[t - 1] + b[t] as a scan of pairs, forwards, and a cumulative sum backwards."""
import triton
import triton.language as tl


@triton.jit
def compose(a0, b0, a1, b1):
    return a0 * a1, a1 * b0 + b1


@triton.jit
def linear_recurrence(b_ptr, h_ptr, suffix_ptr, a, N: tl.constexpr):
    t = tl.arange(0, N)
    b = tl.load(b_ptr + t)
    _, h = tl.associative_scan((tl.full([N], 1.0, tl.float32) * a, b), 0, compose)
    tl.store(h_ptr + t, h)
    tl.store(suffix_ptr + t, tl.cumsum(b, axis=0, reverse=True))
