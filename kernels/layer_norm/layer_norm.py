"""Layer normalisation along rows, with weight and bias. Also writes the mean and 1/std that a backward pass needs."""
import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(x_ptr, weight_ptr, bias_ptr, y_ptr, mean_ptr, rstd_ptr, row_stride, n_cols, eps,
                      BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(axis=0)
    x_row = x_ptr + row * row_stride
    y_row = y_ptr + row * row_stride

    total = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for start in range(0, n_cols, BLOCK_SIZE):
        cols = start + tl.arange(0, BLOCK_SIZE)
        total += tl.load(x_row + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / n_cols

    # Deviations from the mean, not E[x^2] - mean^2, which loses all digits where the mean is large.
    squares = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for start in range(0, n_cols, BLOCK_SIZE):
        cols = start + tl.arange(0, BLOCK_SIZE)
        mask = cols < n_cols
        x = tl.load(x_row + cols, mask=mask, other=0.0).to(tl.float32)
        deviation = tl.where(mask, x - mean, 0.0)
        squares += deviation * deviation
    rstd = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / n_cols + eps)

    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)

    for start in range(0, n_cols, BLOCK_SIZE):
        cols = start + tl.arange(0, BLOCK_SIZE)
        mask = cols < n_cols
        x = tl.load(x_row + cols, mask=mask).to(tl.float32)
        weight = tl.load(weight_ptr + cols, mask=mask).to(tl.float32)
        bias = tl.load(bias_ptr + cols, mask=mask).to(tl.float32)
        tl.store(y_row + cols, (x - mean) * rstd * weight + bias, mask=mask)
