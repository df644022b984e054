"""An offset grows in a loop until it leaves 32 bits. The twin's grows in 64."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, step, N: tl.constexpr):
    offset = 0
    total = 0
    for i in range(N):
        total += tl.load(x_ptr + offset)  # <- address-overflow
        offset += step
    tl.store(y_ptr, total)


@triton.jit
def twin(x_ptr, y_ptr, step, N: tl.constexpr):
    offset = tl.full((), 0, tl.int64)
    total = 0
    for i in range(N):
        total += tl.load(x_ptr + offset)
        offset += step
    tl.store(y_ptr, total)
