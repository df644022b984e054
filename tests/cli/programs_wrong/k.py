"""Element number program * BLOCK leaves 32 bits in the last programs of a tensor of 2^32 + 16 elements."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    tl.store(x_ptr + offsets, 1)
