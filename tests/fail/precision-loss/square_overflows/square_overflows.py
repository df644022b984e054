import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    square = x * x  # <- precision-loss
    norm = tl.sqrt(square.to(tl.float32) + 1.0)
    tl.store(y_ptr + offs, (x / norm).to(tl.float16), mask=offs < n)


@triton.jit
def twin(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0).to(tl.float32)
    square = x * x
    norm = tl.sqrt(square + 1.0)
    tl.store(y_ptr + offs, (x / norm).to(tl.float16), mask=offs < n)
