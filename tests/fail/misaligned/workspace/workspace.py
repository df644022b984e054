"""A workspace of bytes holds n flags and then floats; the fault does not align the floats' place."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, workspace_ptr, n_flags, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    partial_ptr = (workspace_ptr + n_flags).to(tl.pointer_type(tl.float32))
    tl.store(partial_ptr + offsets, tl.load(x_ptr + offsets))  # <- misaligned


@triton.jit
def twin(x_ptr, workspace_ptr, n_flags, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    partial_ptr = (workspace_ptr + tl.cdiv(n_flags, 16) * 16).to(tl.pointer_type(tl.float32))
    tl.store(partial_ptr + offsets, tl.load(x_ptr + offsets))
