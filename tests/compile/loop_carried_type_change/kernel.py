import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    acc = 0
    for i in range(n):
        acc += tl.load(x_ptr + i)
    tl.store(x_ptr, acc)
