"""An infinite weight in a product of f16 tiles meets a zero. The twin keeps weights finite, as f16 does up to 65504."""
import triton
import triton.language as tl


@triton.jit
def fault(a_ptr, b_ptr, c_ptr):
    rows = tl.arange(0, 64)
    ks = tl.arange(0, 32)
    a = tl.load(a_ptr + rows[:, None] * 32 + ks[None, :])
    b = tl.load(b_ptr + ks[:, None] * 64 + rows[None, :])
    c = tl.dot(a, b)  # <- nan-born
    tl.store(c_ptr + rows[:, None] * 64 + rows[None, :], c)


@triton.jit
def twin(a_ptr, b_ptr, c_ptr):
    rows = tl.arange(0, 64)
    ks = tl.arange(0, 32)
    a = tl.minimum(tl.load(a_ptr + rows[:, None] * 32 + ks[None, :]), 65504.0).to(tl.float16)
    b = tl.load(b_ptr + ks[:, None] * 64 + rows[None, :])
    c = tl.dot(a, b)
    tl.store(c_ptr + rows[:, None] * 64 + rows[None, :], c)
