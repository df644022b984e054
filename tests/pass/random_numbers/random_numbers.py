"""Uniform and normal numbers, bit for bit those of Triton (its interpreter made the expected files)."""
import triton
import triton.language as tl


@triton.jit
def random_numbers(int_ptr, uniform_ptr, normal_ptr, seed, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    offset = tl.program_id(0) * 1000003 + lane
    at = tl.program_id(0) * 8 * BLOCK + lane
    a, b, c, d = tl.randint4x(seed, offset)
    tl.store(int_ptr + at, a)
    tl.store(int_ptr + at + BLOCK, b)
    tl.store(int_ptr + at + 2 * BLOCK, c)
    tl.store(int_ptr + at + 3 * BLOCK, d)
    tl.store(int_ptr + at + 4 * BLOCK, tl.randint(seed, offset.to(tl.int64) << 20))
    tl.store(int_ptr + at + 5 * BLOCK, tl.randint(seed, offset, n_rounds=7))
    a, b, c, d = tl.philox(seed, offset.to(tl.int64), lane.to(tl.int64), lane.to(tl.int64), lane.to(tl.int64))
    tl.store(int_ptr + at + 6 * BLOCK, a.to(tl.uint32))
    tl.store(int_ptr + at + 7 * BLOCK, (d >> 32).to(tl.uint32))
    at = tl.program_id(0) * 5 * BLOCK + lane
    tl.store(uniform_ptr + at, tl.rand(seed, offset))
    a, b, c, d = tl.rand4x(seed, offset.to(tl.int64))
    tl.store(uniform_ptr + at + BLOCK, a)
    tl.store(uniform_ptr + at + 2 * BLOCK, b)
    tl.store(uniform_ptr + at + 3 * BLOCK, c)
    tl.store(uniform_ptr + at + 4 * BLOCK, d)
    tl.store(normal_ptr + at, tl.randn(seed, offset))
    a, b, c, d = tl.randn4x(seed, offset)
    tl.store(normal_ptr + at + BLOCK, a)
    tl.store(normal_ptr + at + 2 * BLOCK, b)
    tl.store(normal_ptr + at + 3 * BLOCK, c)
    tl.store(normal_ptr + at + 4 * BLOCK, d)
