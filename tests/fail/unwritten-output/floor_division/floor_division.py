"""A fixed number of programs walks over the blocks; n // BLOCK_SIZE leaves out the last, partial block."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    for block in range(tl.program_id(axis=0), n // BLOCK_SIZE, tl.num_programs(axis=0)):
        offsets = block * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
        x = tl.load(x_ptr + offsets, mask=offsets < n)
        tl.store(y_ptr + offsets, x, mask=offsets < n)


@triton.jit
def twin(x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    for block in range(tl.program_id(axis=0), tl.cdiv(n, BLOCK_SIZE), tl.num_programs(axis=0)):
        offsets = block * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
        x = tl.load(x_ptr + offsets, mask=offsets < n)
        tl.store(y_ptr + offsets, x, mask=offsets < n)
