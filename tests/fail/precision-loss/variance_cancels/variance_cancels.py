import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    mean = tl.sum(x, 0) / n
    mean_of_squares = tl.sum(x * x, 0) / n
    var = mean_of_squares - mean * mean  # <- precision-loss
    tl.store(out_ptr, var)


@triton.jit
def twin(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    mean = tl.sum(x, 0) / n
    apart = tl.where(offs < n, x - mean, 0.0)
    var = tl.sum(apart * apart, 0) / n
    tl.store(out_ptr, var)
