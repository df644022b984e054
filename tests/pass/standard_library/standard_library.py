"""Functions of Triton's standard library that no other case uses (Triton's interpreter made the expected files)."""
import triton
import triton.language as tl


@triton.jit
def standard_library(x_ptr, y_ptr, out_ptr, order_ptr, n, B: tl.constexpr):
    o = tl.arange(0, B)
    at = tl.arange(0, 4)[:, None] * (B // 4) + tl.arange(0, B // 4)[None, :]
    x = tl.load(x_ptr + o)
    y = tl.load(y_ptr + o)
    z = tl.reshape(x, (4, B // 4))
    tl.store(out_ptr + o, tl.softmax(x))
    tl.store(out_ptr + B + at, tl.softmax(z, dim=1, ieee_rounding=True))
    tl.store(out_ptr + 2 * B + o, tl.sigmoid(x))
    a, b = tl.split(tl.reshape(tl.interleave(x, y), (B, 2)))
    tl.store(out_ptr + 3 * B + o, a - b)
    tl.store(out_ptr + 4 * B + o, tl.clamp(x, -0.5, 0.5))
    tl.store(out_ptr + 5 * B + o, tl.where(x > y, tl.fma(x, y, 2.0), tl.math.fdiv(x, y + 8.0)))
    tl.store(out_ptr + 6 * B + at, tl.trans(tl.permute(z, (1, 0))))
    tl.store(out_ptr + 7 * B + o, tl.cumprod(x, 0))
    tl.store(out_ptr + 8 * B + at, tl.cumsum(z, axis=0, reverse=True))
    tl.store(out_ptr + 9 * B + o, tl.zeros_like(x) + tl.full([B], 1.5, tl.float32) + x.abs())
    tl.store(out_ptr + 10 * B + o, tl.ravel(tl.broadcast_to(tl.max(z, 1, keep_dims=True), (4, B // 4))))
    tl.store(out_ptr + 11 * B + o, tl.gather(x, o ^ 5, 0))
    i, j = tl.swizzle2d(o // 8, o % 8, B // 8, 8, 3)
    tl.store(order_ptr + o, i * 8 + j)
    tl.store(order_ptr + B + o, tl.cdiv(o, 3) + tl.cdiv(n, 4) + tl.cdiv(10, 4) + triton.next_power_of_2(5))
    tl.store(order_ptr + 2 * B + o, tl.histogram(o % 7, B))
    tl.store(order_ptr + 3 * B + o, tl.xor_sum(o * o, 0) + tl.umulhi(o * 65537, o * 65539))
