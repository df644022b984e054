"""Maximum, minimum and their places; among equals the first counts."""
import triton
import triton.language as tl


@triton.jit
def argmax_ties(x_ptr, max_ptr, min_ptr, argmax_ptr, argmin_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(axis=0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=-128)
    maximum, argmax = tl.max(x, axis=0, return_indices=True)
    x = tl.where(mask, x, 127)
    tl.store(max_ptr + row, maximum)
    tl.store(argmax_ptr + row, argmax)
    tl.store(min_ptr + row, tl.min(x, axis=0))
    tl.store(argmin_ptr + row, tl.argmin(x, axis=0))
