"""A grouped kernel finds each group's tensor in a table of addresses; the fault looks into the table of sizes."""
import triton
import triton.language as tl


@triton.jit
def fault(addresses_ptr, sizes_ptr, sums_ptr, BLOCK_SIZE: tl.constexpr):
    group = tl.program_id(axis=0)
    offsets = tl.arange(0, BLOCK_SIZE)
    size = tl.load(sizes_ptr + group)
    x_ptr = tl.load(sizes_ptr + group).to(tl.pointer_type(tl.float32))
    x = tl.load(x_ptr + offsets, mask=offsets < size, other=0.0)  # <- wild-pointer
    tl.store(sums_ptr + group, tl.sum(x, axis=0))


@triton.jit
def twin(addresses_ptr, sizes_ptr, sums_ptr, BLOCK_SIZE: tl.constexpr):
    group = tl.program_id(axis=0)
    offsets = tl.arange(0, BLOCK_SIZE)
    size = tl.load(sizes_ptr + group)
    x_ptr = tl.load(addresses_ptr + group).to(tl.pointer_type(tl.float32))
    x = tl.load(x_ptr + offsets, mask=offsets < size, other=0.0)
    tl.store(sums_ptr + group, tl.sum(x, axis=0))
