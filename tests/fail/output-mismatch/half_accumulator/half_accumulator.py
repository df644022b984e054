"""A long sum kept in float16: from 2048 on, adding 1 changes nothing."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, sum_ptr, n, BLOCK_SIZE: tl.constexpr):
    acc = tl.zeros([BLOCK_SIZE], dtype=tl.float16)
    for start in range(0, n, BLOCK_SIZE):
        acc += tl.load(x_ptr + start + tl.arange(0, BLOCK_SIZE))
    tl.store(sum_ptr, tl.sum(acc.to(tl.float32), axis=0))


@triton.jit
def twin(x_ptr, sum_ptr, n, BLOCK_SIZE: tl.constexpr):
    acc = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for start in range(0, n, BLOCK_SIZE):
        acc += tl.load(x_ptr + start + tl.arange(0, BLOCK_SIZE))
    tl.store(sum_ptr, tl.sum(acc.to(tl.float32), axis=0))
