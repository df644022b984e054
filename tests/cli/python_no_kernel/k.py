import triton


def add(x):
    return x + 1
