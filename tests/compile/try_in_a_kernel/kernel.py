import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr):
    try:
        tl.store(x_ptr, 1.0)
    except ValueError:
        pass
