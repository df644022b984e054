"""No parameter of this kernel has a hint, so that its first operation is the first of all."""
import triton
import triton.language as tl


@triton.jit
def k(out, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    j = i * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + j, i.to(tl.float32))
