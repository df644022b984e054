# kernel(x_ptr=*i32:16, p_ptr=*i8:16, n=i32)
# What follows a pruned `if` that returns is not built, but its returns count for the type of the result.
import triton
import triton.language as tl


@triton.jit
def number(FLAG: tl.constexpr):
    if FLAG:
        return 1
    return 2


@triton.jit
def only_one(FLAG: tl.constexpr):
    if FLAG:
        return 1
    else:
        return 2


@triton.jit
def some(v, FLAG: tl.constexpr):
    if FLAG:
        return v, 4, 1
    for i in range(v):
        v += early(v)
    return v, 4, 2


@triton.jit
def early(v):
    if v > 3:
        return v + 1
    return v


@triton.jit
def unrolled(v, FLAG: tl.constexpr):
    for i in tl.static_range(3):
        if FLAG and i == 1:
            return v + i
    return v


@triton.jit
def kernel(x_ptr, p_ptr, n):
    p = tl.load(p_ptr)
    tl.store(x_ptr, p + number(True))
    tl.store(x_ptr, p + only_one(True))
    a, _, c = some(n, True)
    four: tl.constexpr = some(n, True)[1]
    tl.store(x_ptr + tl.arange(0, four), a + c)
    tl.store(x_ptr, unrolled(n, True))
