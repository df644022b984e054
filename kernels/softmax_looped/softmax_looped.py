"""Softmax along rows too long for one block, by the online form.

The first pass keeps the running maximum and the sum of exponentials relative to it, and rescales the sum when the
maximum grows; the second pass writes the result. The row is read twice, not three times.
"""
import triton
import triton.language as tl


@triton.jit
def softmax_looped_kernel(output_ptr, input_ptr, output_row_stride, input_row_stride, n_cols,
                          BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(axis=0)
    input_row = input_ptr + row * input_row_stride
    output_row = output_ptr + row * output_row_stride

    # The first block holds at least one real column, so the maximum is finite from then on and inf - inf cannot occur.
    row_max = -float("inf")
    row_sum = 0.0
    for start in range(0, n_cols, BLOCK_SIZE):
        cols = start + tl.arange(0, BLOCK_SIZE)
        x = tl.load(input_row + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
        new_max = tl.maximum(row_max, tl.max(x, axis=0))
        row_sum = row_sum * tl.exp(row_max - new_max) + tl.sum(tl.exp(x - new_max), axis=0)
        row_max = new_max

    for start in range(0, n_cols, BLOCK_SIZE):
        cols = start + tl.arange(0, BLOCK_SIZE)
        mask = cols < n_cols
        x = tl.load(input_row + cols, mask=mask, other=-float("inf")).to(tl.float32)
        tl.store(output_row + cols, tl.exp(x - row_max) / row_sum, mask=mask)
