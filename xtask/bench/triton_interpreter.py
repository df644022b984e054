"""One launch file on Triton's own interpreter, on the CPU: the other side of `cargo xtask bench`.

    python triton_interpreter.py LAUNCH OUT [REPEATS] [BUDGET_S]

Makes the launch's data, runs it once to warm up, then up to REPEATS times within BUDGET_S seconds, and prints the
wall seconds of each launch as one JSON object. OUT receives a copy of the launch whose inputs are the same data as
.npy files and whose `[expect]` is what Triton computed, so that `tilescope check OUT/LAUNCH` runs on the same data
and judges one interpreter by the other. Where OUT is `-` nothing is left: only the times are wanted.

Reads the launch files of `xtask/bench/kernels` and of `kernels`: dense tensors; the fills randn, randint, zeros and
uninit.
"""
import importlib.util
import json
import os
import re
import shutil
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def import_file(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


launch_files = import_file(ROOT / "kernels" / "compile.py")
os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported

import numpy as np  # noqa: E402
import torch  # noqa: E402

DTYPES = {
    "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "i32": torch.int32, "i64": torch.int64,
}  # yapf: disable


def tensor(entry, names, generator):
    shape = [launch_files.evaluate(size, names) for size in entry["shape"]]
    dtype = DTYPES[entry["dtype"]]
    fill = entry.get("fill", "uninit" if entry["role"] == "out" else "randn")
    if fill == "randn":
        return torch.randn(shape, generator=generator, dtype=torch.float32).to(dtype)
    if fill in ("zeros", "uninit"):
        return torch.zeros(shape, dtype=dtype)
    ends = re.fullmatch(r"randint\((.+), (.+)\)", fill).groups()
    low, high = (launch_files.evaluate(end, names) for end in ends)
    return torch.randint(low, high, shape, generator=generator, dtype=dtype)


def arguments(launch):
    """(arguments by name, grid) of a launch file."""
    names = {name: value["value"] if isinstance(value, dict) else value for name, value in launch["vars"].items()}
    generator = torch.Generator().manual_seed(launch.get("seed", 0))
    args = {}
    for name, entry in launch["args"].items():
        if not isinstance(entry, dict):
            args[name] = names[name] = launch_files.evaluate(entry, names)
    for name, entry in launch.get("constexprs", {}).items():
        args[name] = names[name] = launch_files.evaluate(entry, names)
    for name, entry in launch["args"].items():
        if isinstance(entry, dict):
            args[name] = tensor(entry, names, generator)
    return args, tuple(launch_files.evaluate(size, names) for size in launch["grid"])


def timed(kernel, grid, args, outputs, repeats, budget):
    times = []
    while len(times) < repeats + 1 and (len(times) < 2 or sum(times) + times[-1] < budget):
        for name, before in outputs.items():
            args[name].copy_(before)
        start = time.perf_counter()
        kernel[grid](**args)
        times.append(time.perf_counter() - start)
    return times[0], times[1:]


def save(launch_path, launch, args, inputs, outputs, out):
    text = launch_path.read_text()
    for name, value in inputs.items():
        np.save(out / f"{name}.npy", value.numpy())
        text = re.sub(rf'^({name} .*?)fill = "[^"]*"', rf'\1file = "{name}.npy"', text, flags=re.MULTILINE)
    text += "\n[expect]\n"
    for name in outputs:
        np.save(out / f"expected-{name}.npy", args[name].numpy())
        text += f'{name} = {{ file = "expected-{name}.npy" }}\n'
    (out / launch_path.name).write_text(text)
    for name in (launch["kernel"], "kernels.py"):
        shutil.copy(launch_path.parent / name, out / name)


def main():
    launch_path, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    repeats = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    budget = float(sys.argv[4]) if len(sys.argv) > 4 else 30.0
    launch = tomllib.loads(launch_path.read_text())
    args, grid = arguments(launch)
    file, _, name = launch["kernel"].partition("::")
    if not name:
        file, name = "kernels.py", file.removesuffix(".ttir").split("-")[0] + "_kernel"
    kernel = getattr(import_file(launch_path.parent / file), name)
    tensors = {n: e for n, e in launch["args"].items() if isinstance(e, dict)}
    outputs = {n: args[n].clone() for n, e in tensors.items() if e["role"] != "in"}
    inputs = {n: args[n].clone() for n, e in tensors.items() if e["role"] != "out"}
    first, times = timed(kernel, grid, args, outputs, repeats, budget)
    if sys.argv[2] != "-":
        out.mkdir(parents=True, exist_ok=True)
        save(launch_path, launch, args, inputs, outputs, out)
    print(json.dumps({"first_s": first, "times": times}))


if __name__ == "__main__":
    main()
