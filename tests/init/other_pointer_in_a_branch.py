"""Works in place where a switch says so: one of two pointers becomes the other in a branch."""
import triton
import triton.language as tl


@triton.jit
def scale(out_ptr, x_ptr, n_cols, IN_PLACE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols)
    if IN_PLACE:
        out_ptr = x_ptr
    tl.store(out_ptr + row * n_cols + cols, x * 2, mask=cols < n_cols)
