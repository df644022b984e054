"""A grid of three dimensions, and the sizes of the grid seen from inside."""
import triton
import triton.language as tl


@triton.jit
def grid_3d(y_ptr, sizes_ptr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    nx, ny = tl.num_programs(0), tl.num_programs(1)
    linear = x + nx * (y + ny * z)
    tl.store(y_ptr + linear, linear)
    if linear == 0:
        tl.store(sizes_ptr, nx * 10000 + ny * 100 + tl.num_programs(2))
