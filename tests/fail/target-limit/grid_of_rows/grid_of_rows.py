"""One program for each row along y, which takes 65535: 65536 rows."""
import triton
import triton.language as tl


@triton.jit
def fault(y_ptr, stride):
    row = tl.program_id(1)
    tl.store(y_ptr + row * stride, row)


@triton.jit
def twin(y_ptr, stride):
    row = tl.program_id(0)
    tl.store(y_ptr + row * stride, row)
