"""Integer division rounds toward zero and the remainder has the dividend's sign; shifts of negative numbers keep the sign."""
import triton
import triton.language as tl


@triton.jit
def integer_division(a_ptr, b_ptr, quotient_ptr, remainder_ptr, shifted_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    a = tl.load(a_ptr + offsets)
    b = tl.load(b_ptr + offsets)
    b = tl.where(b == 0, 7, b)
    tl.store(quotient_ptr + offsets, a // b)
    tl.store(remainder_ptr + offsets, a % b)
    tl.store(shifted_ptr + offsets, a >> 3)
