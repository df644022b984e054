# kernel(x_ptr=*fp32:16, n=i32, FLAG=True)
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n, FLAG: tl.constexpr):
    # Pruned at compile time.
    if FLAG:
        scale = 2.0
    else:
        scale = undefined_name
    # A branch without `else`, one value merged.
    if n > 4:
        scale = scale * 3.0
    # Both branches assign a new name.
    if n > 8:
        offset = n + 1
    elif n == 3:
        offset = n - 1
    else:
        offset = n
    y = scale if n > 2 else 1.0
    tl.store(x_ptr + offset, y)
