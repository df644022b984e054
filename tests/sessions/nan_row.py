"""A softmax that forgets rows of which nothing is left: minus infinity from minus infinity is no number."""
import triton
import triton.language as tl


@triton.jit
def masked_softmax(x_ptr, lengths_ptr, y_ptr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    length = tl.load(lengths_ptr + row)
    x = tl.load(x_ptr + row * BLOCK + cols, mask=cols < length, other=-float("inf"))
    shifted = x - tl.max(x, axis=0)
    weights = tl.exp(shifted)
    y = weights / tl.sum(weights, axis=0)
    tl.store(y_ptr + row * BLOCK + cols, y)
