"""Cross entropy of each row of logits with its target class: logsumexp(row) - row[target], in blocks of columns."""
import triton
import triton.language as tl


@triton.jit
def cross_entropy_kernel(logits_ptr, targets_ptr, loss_ptr, row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(axis=0)
    logits_row = logits_ptr + row.to(tl.int64) * row_stride
    row_max = -float("inf")
    row_sum = 0.0
    for start in range(0, n_cols, BLOCK_SIZE):
        cols = start + tl.arange(0, BLOCK_SIZE)
        # Padding must be -inf here: 0 would add exp(0 - max) to the sum for every column past the end.
        x = tl.load(logits_row + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
        new_max = tl.maximum(row_max, tl.max(x, axis=0))
        row_sum = row_sum * tl.exp(row_max - new_max) + tl.sum(tl.exp(x - new_max), axis=0)
        row_max = new_max
    target = tl.load(targets_ptr + row)
    target_logit = tl.load(logits_row + target).to(tl.float32)
    tl.store(loss_ptr + row, row_max + tl.log(row_sum) - target_logit)
