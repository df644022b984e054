"""A result is added to an output that holds nothing yet, as torch.empty makes it. The twin stores it."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    before = tl.load(y_ptr + offsets)
    tl.store(y_ptr + offsets, before + tl.load(x_ptr + offsets))  # <- uninit-load


@triton.jit
def twin(x_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets))
    before = tl.load(y_ptr + offsets)
    tl.store(y_ptr + offsets, before + 1.0)
