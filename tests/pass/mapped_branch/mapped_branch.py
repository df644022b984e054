"""A function with a branch, applied lane by lane."""
import triton
import triton.language as tl


@triton.jit
def leaky(x):
    if x > 0:
        return x
    return x * 0.125


@triton.jit
def mapped_branch(x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(y_ptr + offsets, tl.map_elementwise(leaky, x), mask=mask)
