"""Dropout: each element is zeroed with probability p, the others are scaled by 1/(1-p).

The choice depends only on (seed, element index), by the Philox generator, so a backward pass can repeat it instead of
keeping a mask in memory.
"""
import triton
import triton.language as tl


@triton.jit
def dropout_kernel(x_ptr, y_ptr, n_elements, p, seed, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    keep = tl.rand(seed, offsets) > p
    tl.store(y_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=mask)
