"""Pointers said to be multiples of 16: of bytes, so of 8 elements of two bytes."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, start, B: tl.constexpr):
    offsets = tl.arange(0, B)
    pointers = tl.multiple_of(x_ptr + start + offsets, 16)  # <- hint-violated
    tl.store(y_ptr + offsets, tl.load(pointers))


@triton.jit
def twin(x_ptr, y_ptr, start, B: tl.constexpr):
    offsets = tl.arange(0, B)
    pointers = tl.multiple_of(x_ptr + start + offsets, 16)
    tl.store(y_ptr + offsets, tl.load(pointers))
