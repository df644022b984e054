"""scale * gelu(x + bias) in one pass, with the exact GELU (erf) or its tanh approximation."""
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def gelu_erf(x):
    return 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))  # 1/sqrt(2)


@triton.jit
def gelu_tanh(x):
    inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)  # sqrt(2/pi)
    return 0.5 * x * (1.0 + libdevice.tanh(inner))


@triton.jit
def bias_gelu_kernel(x_ptr, bias_ptr, y_ptr, scale, n_elements, n_cols, TANH: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    bias = tl.load(bias_ptr + offsets % n_cols, mask=mask).to(tl.float32)
    if TANH:
        y = gelu_tanh(x + bias)
    else:
        y = gelu_erf(x + bias)
    tl.store(y_ptr + offsets, scale * y, mask=mask)
