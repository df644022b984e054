"""A descriptor for rows of 50 floats: 200 bytes, no multiple of 16; padded to 52 floats, 208 bytes, they are."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, rows, cols, stride, R: tl.constexpr, C: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [rows, cols], [stride, 1], [R, C])  # <- target-limit
    tile = x.load([tl.program_id(0) * R, 0])
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.arange(0, C)
    tl.store(y_ptr + r[:, None] * cols + c, tile, mask=(r[:, None] < rows) & (c < cols))


@triton.jit
def twin(x_ptr, y_ptr, rows, cols, stride, R: tl.constexpr, C: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [rows, cols], [stride, 1], [R, C])
    tile = x.load([tl.program_id(0) * R, 0])
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.arange(0, C)
    tl.store(y_ptr + r[:, None] * cols + c, tile, mask=(r[:, None] < rows) & (c < cols))
