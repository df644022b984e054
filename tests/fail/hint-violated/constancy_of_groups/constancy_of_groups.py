"""The group of a column, said to be the same in 16 neighbouring columns: with groups of 24 it changes between."""
import triton
import triton.language as tl


@triton.jit
def fault(scale_ptr, y_ptr, group, B: tl.constexpr):
    columns = tl.arange(0, B)
    which = tl.max_constancy(columns // group, 16)  # <- hint-violated
    tl.store(y_ptr + columns, tl.load(scale_ptr + which))


@triton.jit
def twin(scale_ptr, y_ptr, group, B: tl.constexpr):
    columns = tl.arange(0, B)
    which = tl.max_constancy(columns // group, 16)
    tl.store(y_ptr + columns, tl.load(scale_ptr + which))
