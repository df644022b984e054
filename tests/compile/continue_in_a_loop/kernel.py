import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    for i in range(n):
        if i == 3:
            continue
        tl.store(x_ptr + i, 1.0)
