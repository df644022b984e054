"""Float32 to both kinds of fp8 and back, and to bfloat16 and half."""
import triton
import triton.language as tl


@triton.jit
def fp8_casts(x_ptr, e4m3_ptr, e5m2_ptr, bf16_ptr, f16_ptr, back_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    tl.store(e4m3_ptr + offsets, x.to(tl.float8e4nv))
    tl.store(e5m2_ptr + offsets, x.to(tl.float8e5))
    tl.store(bf16_ptr + offsets, x.to(tl.bfloat16))
    tl.store(f16_ptr + offsets, x.to(tl.float16))
    tl.store(back_ptr + offsets, x.to(tl.float8e4nv).to(tl.float32))
