"""A value is scaled to 8 bits and converted without a clamp: 200 is no int8. The twin clamps."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + lanes)
    q = (x * 10.0).to(tl.int8)  # <- float-to-int-range
    tl.store(y_ptr + lanes, q)


@triton.jit
def twin(x_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + lanes)
    q = tl.clamp(x * 10.0, -128.0, 127.0).to(tl.int8)
    tl.store(y_ptr + lanes, q)
