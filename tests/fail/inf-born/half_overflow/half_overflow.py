"""A product of halves beyond 65504 is infinite. The twin computes it in f32."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + lanes)
    tl.store(y_ptr + lanes, x * x)  # <- inf-born


@triton.jit
def twin(x_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + lanes).to(tl.float32)
    tl.store(y_ptr + lanes, x * x / 1024.0)
