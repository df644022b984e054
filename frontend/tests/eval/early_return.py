# kernel(x_ptr=*fp32:16, n=i32)
import triton
import triton.language as tl


@triton.jit
def pick(x, n):
    if n > 3:
        return x + 1.0
    elif n > 2:
        x = x * 2.0
    return x


@triton.jit
def kernel(x_ptr, n):
    pid = tl.program_id(0)
    if pid >= n:
        return
    k = pid
    if k > 2:
        k = k + 1
        if k > 7:
            return
    else:
        k = k + 2
    x = tl.load(x_ptr + k)
    tl.store(x_ptr + k, pick(x, n) + pick(x, k))
