"""A sum of squares kept in 16 bits."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], dtype=tl.float16)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n, other=0.0)
        total += x * x
    tl.store(y_ptr, tl.sum(total, axis=0))


@triton.jit
def twin(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
        total += x * x
    tl.store(y_ptr, tl.sum(total, axis=0).to(tl.float16))
