# kernel(x_ptr=*fp32:16, n=i32, BLOCK=16)
import triton
import triton.language as tl


@triton.jit
def helper(x, y):
    return tl.dot(x, y) + z


@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offest)
    y = x + 1.0
    wrong = tl.laod(x_ptr)
    a, b = (1, 2, 3)
    for i in range(n):
        total = 0
        break
    w = helper(offsets, n)
    offsets[0] = 3
    if n > 3:
        late = 1
    tl.store(x_ptr + late, y)
    def inner(): pass
    tl.store(x_ptr + offsets, y, msk=offsets < n)
