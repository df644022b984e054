"""Tokens are scattered to their expert's slot, and two of a tile have the same one. In the twin none have."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, slot_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    slots = tl.load(slot_ptr + lanes)
    tl.store(y_ptr + slots, tl.load(x_ptr + lanes))  # <- duplicate-store


@triton.jit
def twin(x_ptr, slot_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    slots = tl.load(slot_ptr + lanes)
    tl.store(y_ptr + BLOCK_SIZE - 1 - slots, tl.load(x_ptr + lanes))
