import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr):
    offs = tl.arange(0, 64)
    x = tl.load(x_ptr + offs)
    tl.store(x_ptr + offs, torch.exp(x))
