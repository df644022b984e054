"""A binary search that keeps the middle on the left side never gets from two candidates to one."""
import triton
import triton.language as tl


@triton.jit
def fault(sorted_ptr, queries_ptr, places_ptr, n):
    i = tl.program_id(axis=0)
    query = tl.load(queries_ptr + i)
    low = 0
    high = n
    while low < high:  # <- step-limit
        middle = (low + high) // 2
        if tl.load(sorted_ptr + middle) < query:
            low = middle
        else:
            high = middle
    tl.store(places_ptr + i, low)


@triton.jit
def twin(sorted_ptr, queries_ptr, places_ptr, n):
    i = tl.program_id(axis=0)
    query = tl.load(queries_ptr + i)
    low = 0
    high = n
    while low < high:
        middle = (low + high) // 2
        if tl.load(sorted_ptr + middle) < query:
            low = middle + 1
        else:
            high = middle
    tl.store(places_ptr + i, low)
