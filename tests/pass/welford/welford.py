"""Mean and variance in one pass, by a reduction of triples."""
import triton
import triton.language as tl


@triton.jit
def merge(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    n = n_a + n_b
    share = tl.where(n == 0, 0.0, n_b / n)
    delta = mean_b - mean_a
    return mean_a + delta * share, m2_a + m2_b + delta * delta * n_a * share, n


@triton.jit
def welford(x_ptr, mean_ptr, variance_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(axis=0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)
    mean, m2, n = tl.reduce((x, tl.zeros_like(x), mask.to(tl.float32)), 0, merge)
    tl.store(mean_ptr + row, mean)
    tl.store(variance_ptr + row, m2 / n)
