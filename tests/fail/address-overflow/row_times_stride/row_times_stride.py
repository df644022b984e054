"""Row number times row stride in 32 bits, for the one row that is far away. The twin's stride is an i64."""
import triton
import triton.language as tl


@triton.jit
def fault(x_ptr, y_ptr, row_stride, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * row_stride + columns)  # <- address-overflow
    tl.store(y_ptr + row * BLOCK_SIZE + columns, x)


@triton.jit
def twin(x_ptr, y_ptr, row_stride, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * row_stride + columns)
    tl.store(y_ptr + row * BLOCK_SIZE + columns, x)
