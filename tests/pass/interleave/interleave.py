"""Complex numbers: split pairs into real and imaginary parts, multiply, and join them again."""
import triton
import triton.language as tl


@triton.jit
def interleave(z_ptr, w_ptr, product_ptr, N: tl.constexpr):
    offsets = tl.arange(0, 2 * N)
    a, b = tl.split(tl.reshape(tl.load(z_ptr + offsets), (N, 2)))
    c, d = tl.split(tl.reshape(tl.load(w_ptr + offsets), (N, 2)))
    tl.store(product_ptr + offsets, tl.interleave(a * c - b * d, a * d + b * c))
