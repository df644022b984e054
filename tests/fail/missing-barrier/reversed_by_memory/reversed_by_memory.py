"""A block reversed by way of memory: lane 0 loads what lane 63 stored. The twin waits for all stores first."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, buf_ptr, y_ptr, B: tl.constexpr):
    start = tl.program_id(0) * B
    offs = tl.arange(0, B)
    tl.store(buf_ptr + start + offs, tl.load(x_ptr + start + offs))
    y = tl.load(buf_ptr + start + (B - 1 - offs))  # <- missing-barrier
    tl.store(y_ptr + start + offs, y)


@triton.jit
def twin(x_ptr, buf_ptr, y_ptr, B: tl.constexpr):
    start = tl.program_id(0) * B
    offs = tl.arange(0, B)
    tl.store(buf_ptr + start + offs, tl.load(x_ptr + start + offs))
    tl.debug_barrier()
    y = tl.load(buf_ptr + start + (B - 1 - offs))
    tl.store(y_ptr + start + offs, y)
