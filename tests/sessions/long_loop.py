"""A loop of a hundred thousand and a few rounds: the Collatz steps of a number, over and over."""
import triton
import triton.language as tl


@triton.jit
def rounds(out_ptr, n):
    x = tl.program_id(0) + 7
    total = 0
    for i in range(n):
        x = tl.where(x % 2 == 0, x // 2, 3 * x + 1)
        total += x
    tl.store(out_ptr + tl.program_id(0), total)
