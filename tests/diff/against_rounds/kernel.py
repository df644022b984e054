import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    total = 0.0
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n, other=0.0)
        e = tl.exp(x)
        total += tl.sum(e, axis=0)
    tl.store(y_ptr, tl.log(total))


@triton.jit
def twin(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    total = 0.0
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n, other=-float("inf"))
        e = tl.exp(x)
        total += tl.sum(e, axis=0)
    tl.store(y_ptr, tl.log(total))
