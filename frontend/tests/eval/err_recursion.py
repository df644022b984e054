# kernel(x_ptr=*fp32:16, n=i32)
import triton
import triton.language as tl


@triton.jit
def even(n):
    return odd(n - 1)


@triton.jit
def odd(n):
    return even(n - 1)


@triton.jit
def depth(n, K: tl.constexpr):
    if K == 0:
        return n
    else:
        return depth(n + 1, K - 1)


@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr + depth(n, 5), 1.0)
    tl.store(x_ptr + even(n), 1.0)
