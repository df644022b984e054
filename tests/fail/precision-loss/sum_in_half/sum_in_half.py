import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros([1], dtype=tl.float16)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
        acc += tl.sum(x, 0).to(tl.float16)  # <- precision-loss
    tl.store(out_ptr + tl.arange(0, 1), acc)


@triton.jit
def twin(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros([1], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
        acc += tl.sum(x.to(tl.float32), 0)
    tl.store(out_ptr + tl.arange(0, 1), acc)
