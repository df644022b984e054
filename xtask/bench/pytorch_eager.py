"""What PyTorch eager takes on the CPU for the work of `cargo xtask bench`: the third side of the comparison.

    python pytorch_eager.py THREADS REPEATS NAME...

NAME is that of a launch file of `xtask/bench/kernels`. Prints one line of JSON per name that has a counterpart in
PyTorch: {"name", "call", "times": seconds per call}. A time is the mean over enough calls to fill 20 ms, after as many
to warm up; outputs and temporaries are made and touched before (`out=`), as far as the operation takes them.
"""
import json
import sys
import time

import torch
import torch.nn.functional as F

FILL_S = 0.02
aten = torch.ops.aten
generator = torch.Generator().manual_seed(0)


def randn(*shape, dtype=torch.float32):
    return torch.randn(*shape, generator=generator).to(dtype)


def sizes(text):
    return [int(part) for part in text.split("x")]


def vadd(size):
    x, y, out = randn(int(size)), randn(int(size)), torch.zeros(int(size))
    return "torch.add(out=)", lambda: torch.add(x, y, out=out)


def softmax(size):
    x = randn(*sizes(size))
    out = torch.zeros_like(x)
    return "torch.softmax(out=)", lambda: torch.softmax(x, 1, out=out)


def layernorm(size):
    rows, columns = sizes(size)
    half = torch.float16
    x, w, b = randn(rows, columns, dtype=half), randn(columns, dtype=half), randn(columns, dtype=half)
    y, mean, rstd = torch.zeros_like(x), torch.zeros(rows, 1), torch.zeros(rows, 1)
    try:
        aten.native_layer_norm.out(x, [columns], w, b, 1e-5, out0=y, out1=mean, out2=rstd)
    except RuntimeError:  # it wants the statistics in another type
        return "F.layer_norm", lambda: F.layer_norm(x, (columns,), w, b, 1e-5)
    out = {"out0": y, "out1": mean, "out2": rstd}
    return "native_layer_norm(out=)", lambda: aten.native_layer_norm.out(x, [columns], w, b, 1e-5, **out)


def gelu(approximate):
    def make(size):
        x = randn(*sizes(size))
        b = randn(x.shape[1])
        sums, out = torch.zeros_like(x), torch.zeros_like(x)

        def call():
            torch.add(x, b, out=sums)
            aten.gelu.out(sums, approximate=approximate, out=out)
            out.mul_(0.75)
        return "add(out=), gelu(out=), mul_", call
    return make


def matmul(size):
    n, half = int(size), torch.float16
    a, b, out = randn(n, n, dtype=half), randn(n, n, dtype=half), torch.zeros(n, n, dtype=half)
    return "torch.matmul(out=)", lambda: torch.matmul(a, b, out=out)


def attention(size):
    q, k, v = (randn(*sizes(size), dtype=torch.float16) for _ in range(3))
    return "scaled_dot_product_attention", lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)


def histogram(size):
    x = torch.randint(0, 256, (int(size),), generator=generator, dtype=torch.int32)
    return "torch.bincount", lambda: torch.bincount(x, minlength=256)


def cumsum(size):
    x = randn(*sizes(size))
    out = torch.zeros_like(x)
    return "torch.cumsum(out=)", lambda: torch.cumsum(x, 1, out=out)


def dropout(size):
    x = randn(int(size))
    out, mask = torch.zeros_like(x), torch.zeros(int(size), dtype=torch.bool)
    return "native_dropout(out=)", lambda: aten.native_dropout.out(x, 0.5, True, out0=out, out1=mask)


MAKERS = {
    "vadd": vadd, "softmax": softmax, "layernorm": layernorm, "gelu_tanh": gelu("tanh"), "gelu_erf": gelu("none"),
    "matmul": matmul, "attention": attention, "hist_atomic": histogram, "hist_block": histogram,
    "scan_cumsum": cumsum, "scan_assoc": cumsum, "dropout": dropout,
}  # yapf: disable


def mean(call, calls):
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


def main():
    threads, repeats, names = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    torch.set_num_threads(threads)
    for name in names:
        kind, _, size = name.partition("-")
        if kind not in MAKERS:
            continue
        what, call = MAKERS[kind](size)
        call()
        calls = max(1, min(2000, int(FILL_S / max(mean(call, 1), 1e-7))))
        mean(call, calls)
        times = [mean(call, calls) for _ in range(repeats)]
        print(json.dumps({"name": name, "call": what, "times": times}), flush=True)


if __name__ == "__main__":
    main()
