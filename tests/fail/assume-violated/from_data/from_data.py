"""An assumption about loaded data, true of all values but one."""
import triton
import triton.language as tl


@triton.jit
def fault(lengths_ptr, y_ptr):
    i = tl.program_id(axis=0)
    length = tl.load(lengths_ptr + i)
    tl.assume(length > 0)  # <- assume-violated
    tl.store(y_ptr + i, length * 2)


@triton.jit
def twin(lengths_ptr, y_ptr):
    i = tl.program_id(axis=0)
    length = tl.load(lengths_ptr + i)
    tl.assume(length < 7)
    tl.store(y_ptr + i, length * 2)
