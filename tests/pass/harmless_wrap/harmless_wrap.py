"""An intermediate leaves 32 bits and comes back: the sum that reaches the address is right. The hash wraps on purpose."""
import triton
import triton.language as tl


@triton.jit
def harmless_wrap(x_ptr, y_ptr, hash_ptr, far, near, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    index = offsets + far - near  # offsets + far does not fit 32 bits from lane 8 on
    tl.store(y_ptr + offsets, tl.load(x_ptr + index))
    tl.store(hash_ptr + offsets, (offsets * -1640531527) & 255)
