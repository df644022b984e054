"""Rows that wrap around at a multiple of 8 are said to be contiguous: untrue, but no vector of at most 8 lanes crosses
the place, so it is only worth knowing. The twin says what is true."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, M, B: tl.constexpr):
    offsets = tl.program_id(0) * B + tl.arange(0, B)
    rows = tl.max_contiguous(offsets % M, B)  # <- hint-violated
    tl.store(y_ptr + offsets, tl.load(x_ptr + rows))


@triton.jit
def twin(x_ptr, y_ptr, M, B: tl.constexpr):
    offsets = tl.program_id(0) * B + tl.arange(0, B)
    rows = tl.max_contiguous(offsets % M, 8)
    tl.store(y_ptr + offsets, tl.load(x_ptr + rows))
