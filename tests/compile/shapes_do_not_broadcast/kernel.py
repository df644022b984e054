import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr):
    rows = tl.arange(0, 64)
    columns = tl.arange(0, 32)
    tl.store(x_ptr + rows, rows + columns)
