import triton
import triton.language as tl


@triton.jit
def count(x_ptr, sum_ptr, id_ptr, n, FIRST: tl.constexpr, BLOCK: tl.constexpr):
    """The sum of x in tenths, cut to an integer, and numbers that float64 does not hold."""
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + i, mask=i < n, other=0.0)
        tl.store(id_ptr + i, i.to(tl.int64) + FIRST, mask=i < n)
    # Which integer it is may hang on the rounding of the sum.
    tl.store(sum_ptr, (tl.sum(total, axis=0) * 10).to(tl.int32))
