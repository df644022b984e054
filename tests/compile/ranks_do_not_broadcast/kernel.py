import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr):
    rows = tl.arange(0, 8)[:, None]
    columns = tl.arange(0, 4)[None, :]
    block = rows * 8 + columns
    tl.store(x_ptr + block, block + tl.arange(0, 8))
