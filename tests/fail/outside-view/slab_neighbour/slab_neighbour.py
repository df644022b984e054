"""Two tensors cut from one slab: reading past the first reads the second, inside the storage all the same."""
import triton
import triton.language as tl


@triton.jit
def fault(q_ptr, k_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    q = tl.load(q_ptr + offsets)  # <- outside-view
    k = tl.load(k_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, q * k, mask=offsets < n)


@triton.jit
def twin(q_ptr, k_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    q = tl.load(q_ptr + offsets, mask=offsets < n)
    k = tl.load(k_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, q * k, mask=offsets < n)
