import triton.language as tl

BLOCK = tl.constexpr(64)
