import triton
import triton.language as tl


@triton.jit
def gelu(x):
    return 0.5 * x * (1 + tl.erf(x * 0.7071067811865476))


@triton.autotune(configs=[triton.Config({"BLOCK": 128}, num_warps=4)], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit(do_not_specialize=["step"])
def bias_gelu(x_ptr, bias_ptr, y_ptr, n, step: tl.int64, scale=1.0, BLOCK: tl.constexpr = 64, EVEN: tl.constexpr = False):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n) + tl.load(bias_ptr + step)
    tl.store(y_ptr + offs, gelu(x) * scale, mask=offs < n)


def launch(x, bias, y):
    bias_gelu[(4,)](x, bias, y, x.numel(), 0)


@triton.jit
def fill(y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, 0.0, mask=offs < n)
