"""A view with a negative stride: element 0 is the last of the storage."""
import triton
import triton.language as tl


@triton.jit
def reversed_view(x_ptr, y_ptr, x_stride, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets * x_stride, mask=offsets < n), mask=offsets < n)
