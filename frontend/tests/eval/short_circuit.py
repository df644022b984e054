# kernel(x_ptr=*i32:16, n=i32, HAS=False, K=3)
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n, HAS: tl.constexpr, K: tl.constexpr):
    a = HAS and undefined_name
    b = (not HAS) or undefined_name
    c = HAS or n > 1
    d = 0 < n <= K
    e = n > 1 and K == 3 and n < 9
    f: tl.constexpr = K
    g: tl.constexpr
    g = K + 1
    if (f == 3 and g == 4) and n > 0:
        tl.store(x_ptr, K)
    tl.store(x_ptr + 1, a | b | c | d | e)
