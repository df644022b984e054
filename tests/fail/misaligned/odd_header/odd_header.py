"""Floats behind a header in a byte buffer; the fault skips a header of 2 bytes, the twin one of 4."""
import triton
import triton.language as tl


@triton.jit
def fault(buffer_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    values_ptr = (buffer_ptr + 2).to(tl.pointer_type(tl.float32))
    x = tl.load(values_ptr + offsets)  # <- misaligned
    tl.store(y_ptr + offsets, x)


@triton.jit
def twin(buffer_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    values_ptr = (buffer_ptr + 4).to(tl.pointer_type(tl.float32))
    x = tl.load(values_ptr + offsets)
    tl.store(y_ptr + offsets, x)
