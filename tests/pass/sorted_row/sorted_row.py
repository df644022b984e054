"""A bitonic sort of values read backwards."""
import triton
import triton.language as tl


@triton.jit
def sorted_row(x_ptr, y_ptr, top_ptr, N: tl.constexpr, K: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + N - 1 - offsets)
    tl.store(y_ptr + offsets, tl.sort(x))
    tl.store(top_ptr + tl.arange(0, K), tl.topk(x, K))
