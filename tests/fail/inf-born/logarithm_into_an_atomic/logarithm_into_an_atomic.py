"""Sums of logarithms by atomics: a count of zero has none. The twin adds one to the counts."""
import triton
import triton.language as tl


@triton.jit
def fault(count_ptr, total_ptr, BLOCK_SIZE: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    count = tl.load(count_ptr + lanes)
    entropy = tl.log(count)  # <- inf-born
    tl.atomic_add(total_ptr + lanes % 4, entropy)


@triton.jit
def twin(count_ptr, total_ptr, BLOCK_SIZE: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    count = tl.load(count_ptr + lanes)
    entropy = tl.log(count + 1.0)
    tl.atomic_add(total_ptr + lanes % 4, entropy)
