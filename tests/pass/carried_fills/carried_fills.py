import triton
import triton.language as tl


@triton.jit
def carried_fills(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    # What a loop and a branch carry begins as tiles of one value each, under the short names that generated code likes too.
    s = tl.full((BLOCK,), 2.0, tl.float32)
    c = tl.full((BLOCK,), 3.0, tl.float32)
    i = tl.full((BLOCK,), 5, tl.int32)
    for k in range(0, n, BLOCK):
        offs = k + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
        # The old values, all at once.
        s, c = c + x, s - x
        i += 1
    if n > 100:
        other = tl.full((BLOCK,), 7.0, tl.float32)
    else:
        other = tl.full((BLOCK,), 9.0, tl.float32)
    lanes = tl.arange(0, BLOCK)
    tl.store(y_ptr + lanes, s * 1000 + c * 10 + i.to(tl.float32) + other * 0.25)
