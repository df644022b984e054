import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr):
    with open("log.txt") as log:
        tl.store(x_ptr, 1.0)
