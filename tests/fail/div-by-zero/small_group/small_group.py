"""The size of a group is the length over the number of groups, which is 0 for short inputs."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, n, N_GROUPS: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    group_size = n // N_GROUPS
    group = offsets // group_size  # <- div-by-zero
    tl.store(y_ptr + offsets, tl.load(x_ptr + group))


@triton.jit
def twin(x_ptr, y_ptr, n, N_GROUPS: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    group_size = tl.maximum(n // N_GROUPS, 1)
    group = offsets // group_size
    tl.store(y_ptr + offsets, tl.load(x_ptr + group))
