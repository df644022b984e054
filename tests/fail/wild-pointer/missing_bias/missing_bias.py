"""The bias is optional and not given, and the kernel loads it all the same."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, bias_ptr, y_ptr, n, HAS_BIAS: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    x += tl.load(bias_ptr + offsets, mask=mask)  # <- wild-pointer
    tl.store(y_ptr + offsets, x, mask=mask)


@triton.jit
def twin(x_ptr, bias_ptr, y_ptr, n, HAS_BIAS: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    if HAS_BIAS:
        x += tl.load(bias_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, x, mask=mask)
