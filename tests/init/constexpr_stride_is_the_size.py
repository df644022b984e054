"""A compile-time size that is the stride too; several rows a program."""
import triton
import triton.language as tl


@triton.jit
def shift(x, y, T, D: tl.constexpr, BT: tl.constexpr, BD: tl.constexpr):
    o_t = tl.program_id(0) * BT + tl.arange(0, BT)
    o_d = tl.arange(0, BD)
    mask = (o_t[:, None] < T) & (o_d[None, :] < D)
    offsets = o_t[:, None] * D + o_d[None, :]
    tl.store(y + offsets, tl.load(x + offsets, mask=mask) + 1, mask=mask)
