# kernel(x_ptr=*i32:16, n=i32)
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    i = 0
    found = False
    while (i < n) and not found:
        value = tl.load(x_ptr + i)
        found = value == 7
        if not found:
            i += 1
    while tl.condition(i > 0, disable_licm=True):
        i -= 1
    tl.store(x_ptr, i)
