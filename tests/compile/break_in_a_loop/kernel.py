import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    for i in range(n):
        x = tl.load(x_ptr + i)
        if x > 1.0:
            break
        tl.store(x_ptr + i, x)
