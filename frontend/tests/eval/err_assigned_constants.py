# kernel(x_ptr=*i32:16, n=i32, C=5)
# Constants that run-time control flow cannot assign.
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n, C: tl.constexpr):
    if n > 1:
        C = 3
    else:
        C = 4
    d = tl.float32
    for i in range(n):
        d = tl.float16
    a, *b = n, 2, 3
    tl.store(x_ptr, C + 2147483648)
