# kernel(x_ptr=*i32:16, n=i32, FLAG=True)
# Branches that return join the variables of the others by type only.
import triton
import triton.language as tl


@triton.jit
def both(v, FLAG: tl.constexpr):
    if v > 2:
        w = v
        if FLAG:
            return v
        w += 1
    else:
        w = 5
        if FLAG:
            return 3
    w += v
    if w > 7:
        return w * 2
    return w


@triton.jit
def kernel(x_ptr, n, FLAG: tl.constexpr):
    tl.store(x_ptr, both(n, FLAG))
    if n > 3:
        z = 2
        return
    else:
        z = 1
    tl.store(x_ptr, z)
    if n > 1:
        z += 3
    else:
        z += 4
        tl.store(x_ptr, z)
        if FLAG:
            return
        z = z * 2
    tl.store(x_ptr, z)
