"""Every kind of atomic read-modify-write on integers, all lanes of all programs on the same few cells."""
import triton
import triton.language as tl


@triton.jit
def atomic_kinds(x_ptr, sum_ptr, max_ptr, min_ptr, and_ptr, or_ptr, xor_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0)
    cell = offsets % 2
    tl.atomic_add(sum_ptr + cell, x, mask=mask)
    tl.atomic_max(max_ptr + cell, x, mask=mask)
    tl.atomic_min(min_ptr + cell, x, mask=mask)
    tl.atomic_and(and_ptr + cell, x | 1, mask=mask)
    tl.atomic_or(or_ptr + cell, x & 2, mask=mask)
    tl.atomic_xor(xor_ptr + cell, x & 1, mask=mask)
