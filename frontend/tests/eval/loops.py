# kernel(x_ptr=*fp32:16, n=i32, m=i64, BLOCK=16)
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n, m, BLOCK: tl.constexpr):
    total = 0.0
    ptr = x_ptr
    for i in range(0, n, BLOCK):
        inner = 0.0
        for j in tl.range(n, 0, -2, num_stages=3):
            inner += tl.load(ptr + j)
        for k in tl.static_range(2):
            ptr += k + 1
        total += inner * i
    for i in tl.range(m, flatten=True, disallow_acc_multi_buffer=True):
        total += i
    tl.store(x_ptr, total)
