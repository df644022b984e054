# kernel(x_ptr=*fp32:16, n=i32, N=4)
import triton
import triton.language as tl


@triton.jit
def swap(pair):
    a, b = pair
    return b, a


@triton.jit
def total(*values):
    result = values[0]
    for i in tl.static_range(1, len(values)):
        result = result + values[i]
    return result


@triton.jit
def kernel(x_ptr, n, N: tl.constexpr):
    state = (n, n + 1)
    for i in range(N):
        state = swap(state)
    pair = (1, 2.0)
    a, (b, c) = 1, (2, n)
    names = [x + 1 for x in state]
    tl.store(x_ptr + total(a, b, c), total(*names))
    tl.store(x_ptr, pair[1])
