"""The integer square root by Newton's method: a loop whose length depends on the data, one value per program."""
import triton
import triton.language as tl


@triton.jit
def integer_root(x_ptr, root_ptr):
    i = tl.program_id(axis=0)
    x = tl.load(x_ptr + i)
    root = x
    better = (x + 1) // 2
    while better < root:
        root = better
        better = (root + x // root) // 2
    tl.store(root_ptr + i, root)
