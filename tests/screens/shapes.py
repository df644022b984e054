"""A tile of 128 x 4096 and one of three dimensions, to look at."""
import triton
import triton.language as tl


@triton.jit
def shapes(x_ptr, cube_ptr, n_rows, n_cols):
    rows = tl.arange(0, 128)
    cols = tl.arange(0, 4096)
    mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
    wide = tl.load(x_ptr + rows[:, None] * n_cols + cols[None, :], mask=mask)
    i = tl.arange(0, 4)
    j = tl.arange(0, 8)
    k = tl.arange(0, 16)
    cube = i[:, None, None] * 100 + j[None, :, None] * 10 + k[None, None, :]
    tl.store(cube_ptr + i[:, None, None] * 128 + j[None, :, None] * 16 + k[None, None, :], cube)
    tl.store(x_ptr + rows[:, None] * n_cols + cols[None, :], wide * 2, mask=mask)
