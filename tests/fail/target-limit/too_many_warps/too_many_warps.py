"""64 warps are 2048 threads; a block has at most 1024. Both functions are the same; the launches differ."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, 2.0 * tl.load(x_ptr + offsets))


@triton.jit
def twin(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, 2.0 * tl.load(x_ptr + offsets))
