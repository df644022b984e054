# kernel(x=*i32, n=i32)
import triton
import triton.language as tl


@triton.jit
def kernel(x, n):
    tl.store(x, 1) if n > 3 else tl.store(x, 2)
