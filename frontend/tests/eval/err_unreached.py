# kernel(x_ptr=*i32:16, n=i32, FLAG=True)
# Triton refuses all of it: what follows is compiled, and the variables of a branch that returns are joined too.
import triton
import triton.language as tl


@triton.jit
def two(v, FLAG: tl.constexpr):
    if FLAG:
        return v
    return v * 1.0


@triton.jit
def with_default(v, w=None):
    if w is None:
        return v
    return v - w


@triton.jit
def kernel(x_ptr, n, FLAG: tl.constexpr):
    tl.store(x_ptr, two(n, FLAG))
    tl.store(x_ptr, with_default(n))
    y = 1
    if n > 3:
        y = 2.0
        return
    if n > 2:
        return
    else:
        z = 1
    tl.store(x_ptr, z)
    if FLAG:
        tl.store(x_ptr, 1)
        return
    tl.static_assert(not FLAG)
    tl.store(x_ptr, undefined)
