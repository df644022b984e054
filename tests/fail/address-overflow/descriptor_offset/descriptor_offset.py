"""The column of a block, 2 * (2^31 - 1) + 64 by exact arithmetic, wraps around to 62 in 32 bits: the wrong block, inside of
the tensor. The twin's column is 64 by a subtraction that wraps around and comes right."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, n, big, B: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [n], [1], [B])
    tile = x.load([big * 2 + 64])  # <- address-overflow
    tl.store(y_ptr + tl.arange(0, B), tile)


@triton.jit
def twin(x_ptr, y_ptr, n, big, B: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [n], [1], [B])
    tile = x.load([(big + 1073741824) + 64 - (big + 1073741824)])
    tl.store(y_ptr + tl.arange(0, B), tile)
