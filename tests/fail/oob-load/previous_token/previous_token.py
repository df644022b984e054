"""Each token is mixed with the one before it; token 0 has none."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, n):
    t = tl.program_id(axis=0)
    previous = tl.load(x_ptr + t - 1)  # <- oob-load
    tl.store(y_ptr + t, tl.load(x_ptr + t) - previous)


@triton.jit
def twin(x_ptr, y_ptr, n):
    t = tl.program_id(axis=0)
    previous = 0.0
    if t > 0:
        previous = tl.load(x_ptr + t - 1)
    tl.store(y_ptr + t, tl.load(x_ptr + t) - previous)
