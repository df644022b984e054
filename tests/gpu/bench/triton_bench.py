"""Times Triton's kernels on the problems of `launches.py`: graphs of many calls over rotating buffers, device events, medians.

Usage: triton_bench.py OUT.tsv [NAME…]. Lines: name, microseconds, number of warps. Needs PyTorch and Triton on a GPU.
"""
import statistics
import sys

import torch
import triton

import kernels
from launches import cases

DTYPES = {"f32": torch.float32, "f16": torch.float16, "i64": torch.int64}
ROTATION = 256 << 20


def make(value):
    if not isinstance(value, dict):
        return value
    dtype = DTYPES[value["dtype"]]
    if dtype == torch.int64:
        return torch.randint(0, 1000, value["shape"], device="cuda")
    if value["role"] == "out":
        return torch.empty(value["shape"], device="cuda", dtype=dtype)
    return torch.randn(value["shape"], device="cuda", dtype=dtype)


def graph_time(call, sets, repeats=9):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for i in range(min(sets, 3)):
            call(i)
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for i in range(3):
            call(i % sets)
        end.record()
        end.synchronize()
        one = max(begin.elapsed_time(end) / 3, 0.001)
    calls = min(200, max(sets, int(2.0 / one)))
    calls = -(-calls // sets) * sets
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for i in range(calls):
            call(i % sets)
    for _ in range(3):
        graph.replay()
    times = []
    for _ in range(repeats):
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / calls)
    return statistics.median(times)


def main():
    only = sys.argv[2:]
    with open(sys.argv[1], "w") as out:
        for case in cases():
            if only and not any(word in case["name"] for word in only):
                continue
            sets = max(1, min(64, -(-ROTATION // case["bytes"])))
            data = [[make(v) for v in case["args"].values()] for _ in range(sets)]
            kernel = getattr(kernels, case["kernel"])
            grid = tuple(case["grid"])
            best = None
            for warps in (1, 2, 4, 8, 16):
                try:
                    us = graph_time(lambda i: kernel[grid](*data[i], **case["consts"], num_warps=warps), sets)
                except Exception as error:  # one failing variant must not lose the run
                    print(case["name"], warps, type(error).__name__, str(error)[:120], flush=True)
                    continue
                if best is None or us < best[0]:
                    best = (us, warps)
            if best:
                out.write(f"{case['name']}\t{best[0]:.3f}\tw{best[1]}\n")
                out.flush()
                print(f"{case['name']:28} {best[0]:9.2f} us {case['bytes'] / best[0] / 1e3:7.0f} GB/s w{best[1]}", flush=True)
            del data
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
