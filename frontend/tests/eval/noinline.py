# kernel(x_ptr=*fp32:16, n=i32)
import triton
import triton.language as tl


@triton.jit(noinline=True)
def scaled(x, factor: tl.constexpr = 3):
    return x * factor


@triton.jit
def kernel(x_ptr, n):
    for i in range(n):
        x = tl.load(x_ptr + i)
        x = scaled(x)
        x = scaled(x, 4)
        tl.store(x_ptr + i, scaled(x))
