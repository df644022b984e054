import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    acc = 0.0
    for i in range(n):
        acc += tl.load(x_ptr + tl.arange(0, 64))
    tl.store(x_ptr + tl.arange(0, 64), acc)
