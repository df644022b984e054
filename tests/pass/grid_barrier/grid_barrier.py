"""Three rounds of a sum over neighbours in one launch: all programs meet between the rounds. Each arrives by an atomic
addition and polls until all have; half of them wait by loading the counter atomically instead."""
import triton
import triton.language as tl


@triton.jit
def meet(count_ptr, expected, by_poll):
    tl.atomic_add(count_ptr, 1)
    if by_poll:
        tl.atomic_poll(count_ptr, expected)
    else:
        while tl.atomic_load(count_ptr) != expected:
            pass


@triton.jit
def grid_barrier(x_ptr, y_ptr, counts_ptr, n_programs, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    lanes = tl.arange(0, BLOCK_SIZE)
    for step in range(3):
        source = x_ptr
        target = y_ptr
        if step == 1:
            source = y_ptr
            target = x_ptr
        left = tl.load(source + (pid + n_programs - 1) % n_programs * BLOCK_SIZE + lanes)
        right = tl.load(source + (pid + 1) % n_programs * BLOCK_SIZE + lanes)
        meet(counts_ptr + 2 * step, n_programs, pid % 2 == 0)
        tl.store(target + pid * BLOCK_SIZE + lanes, left + right)
        meet(counts_ptr + 2 * step + 1, n_programs, pid % 2 == 1)
