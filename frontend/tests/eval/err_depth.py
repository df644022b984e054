# kernel(x_ptr=*fp32:16, n=i32)
import triton
import triton.language as tl


@triton.jit
def depth(n, K: tl.constexpr):
    if K == 0:
        return n
    else:
        if n is not None:
            return (((depth(n + 1, K - 1) + 1) + 1) + 1)


@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr + depth(n, 500), 1.0)
