"""What wraps on the way and comes right is no fault: the twin adds and takes away two billion."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, large, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + (lanes + large + 2000000000))  # <- address-overflow
    tl.store(y_ptr + lanes, x)


@triton.jit
def twin(x_ptr, y_ptr, large, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + (lanes + large + 2000000000 - large - 2000000000))
    tl.store(y_ptr + lanes, x)
