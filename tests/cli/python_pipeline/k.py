import triton
import triton.language as tl


@triton.jit
def fill(y_ptr, value, N: tl.constexpr):
    tl.store(y_ptr + tl.arange(0, N), value)


@triton.jit
def add(x_ptr, y_ptr, N: tl.constexpr, OP: tl.constexpr):
    offs = tl.arange(0, N)
    tl.store(y_ptr + offs, OP(tl.load(x_ptr + offs), tl.load(y_ptr + offs)))


@triton.jit
def plus(a, b):
    return a + b
