"""Layer scale in place: a row of zeros is divided by its norm, 0 / 0. The twin adds eps below the root."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    lanes = row * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + lanes)
    norm = tl.sqrt(tl.sum(x * x, axis=0))
    tl.store(x_ptr + lanes, x / norm)  # <- nan-born


@triton.jit
def twin(x_ptr, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    lanes = row * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + lanes)
    norm = tl.sqrt(tl.sum(x * x, axis=0) + 1e-6)
    tl.store(x_ptr + lanes, x / norm)
