# kernel(x_ptr=*i32:16, n=i32)
# The call stands after the `if` that ends it, not in an `else`: Triton never comes to an end.
import triton
import triton.language as tl


@triton.jit
def depth(v, D: tl.constexpr):
    if D == 0:
        return v
    return depth(v, D - 1)


@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, depth(n, 3))
