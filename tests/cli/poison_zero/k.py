"""Ten numbers are read by sixteen lanes, and the other six are told nothing of what they hold."""
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n):
    offs = tl.arange(0, 16)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, x)
