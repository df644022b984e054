"""An index loaded from memory times the width of a row: only large indices wrap. The twin widens the index."""
import triton
import triton.language as tl


@triton.jit
def fault(index_ptr, table_ptr, y_ptr, WIDTH: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    index = tl.load(index_ptr + lanes)
    value = tl.load(table_ptr + index * WIDTH)  # <- address-overflow
    tl.store(y_ptr + lanes, value)


@triton.jit
def twin(index_ptr, table_ptr, y_ptr, WIDTH: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    index = tl.load(index_ptr + lanes).to(tl.int64)
    value = tl.load(table_ptr + index * WIDTH)
    tl.store(y_ptr + lanes, value)
