"""The gradient of an embedding is added to the rows of the weight instead of those of the gradient."""
import triton
import triton.language as tl


@triton.jit
def fault(ids_ptr, dy_ptr, weight_ptr, dweight_ptr, DIM: tl.constexpr):
    token = tl.program_id(axis=0)
    cols = tl.arange(0, DIM)
    dy = tl.load(dy_ptr + token * DIM + cols)
    row = tl.load(ids_ptr + token)
    tl.atomic_add(weight_ptr + row * DIM + cols, dy)  # <- store-to-input


@triton.jit
def twin(ids_ptr, dy_ptr, weight_ptr, dweight_ptr, DIM: tl.constexpr):
    token = tl.program_id(axis=0)
    cols = tl.arange(0, DIM)
    dy = tl.load(dy_ptr + token * DIM + cols)
    row = tl.load(ids_ptr + token)
    tl.atomic_add(dweight_ptr + row * DIM + cols, dy)
