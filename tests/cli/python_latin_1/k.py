# -*- coding: latin-1 -*-
import triton
import triton.language as tl
# Größe


@triton.jit
def kernel(x_ptr):
    offs = tl.arange(0, 64)
    tl.store(x_ptr + offs, tl.load(x_ptr + offs) + (2 if "ß" == "\xdf" else 1))
