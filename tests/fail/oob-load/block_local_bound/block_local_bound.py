"""The pointer is advanced to the block, and the offset inside the block is compared with the global length: right in
block 0 only."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    first = tl.program_id(axis=0) * BLOCK_SIZE
    offsets = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + first + offsets, mask=offsets < n)  # <- oob-load
    tl.store(y_ptr + first + offsets, x, mask=first + offsets < n)


@triton.jit
def twin(x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    first = tl.program_id(axis=0) * BLOCK_SIZE
    offsets = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + first + offsets, mask=first + offsets < n)
    tl.store(y_ptr + first + offsets, x, mask=first + offsets < n)
