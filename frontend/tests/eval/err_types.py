# kernel(x_ptr=*fp32:16, n=i32, BLOCK=16)
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    acc = 0
    for i in range(n):
        acc += tl.load(x_ptr + i)
    value = 1
    if n > 2:
        value = 2.0
    if n > 3:
        other = 1
    else:
        other = tl.arange(0, 16)
    if tl.arange(0, BLOCK) > 3:
        value = 4
    name = None
    while n > 1:
        name = n
    if n > 4:
        return
    for j in range(n):
        if j > 2:
            return
