# kernel(x_ptr=*i32:16, n=i32, m=i64, u=u32)
# Bounds are extended by the sign of the loop's variable, not by their own.
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n, m, u):
    for i in range(u, m, u):
        tl.store(x_ptr + i, 1)
    for i in range(n > 3):
        tl.store(x_ptr + i, 2)
    for i in range(n, u):
        tl.store(x_ptr + i, 3)
