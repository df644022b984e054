import triton
import triton.language as tl


@triton.jit(do_not_specialize=["never"])
def kernel(x_ptr, y_ptr, bias_ptr, stride, n, never, wide: tl.int64, pair, shift=16):
    offs = tl.arange(0, 16) * stride
    x = tl.load(x_ptr + offs)
    if bias_ptr is not None:
        x += tl.load(bias_ptr + offs)
    tl.store(y_ptr + offs + (n + never + wide) * 0 + shift - 16, x * pair[0] + pair[1])
