# coding: shift_jis
import triton
import triton.language as tl
# 日本


@triton.jit
def kernel(x_ptr):
    offs = tl.arange(0, 64)
    tl.store(x_ptr + offs, 1.0)
