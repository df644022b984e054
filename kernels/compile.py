#!/usr/bin/env python3
"""Compile every launch file's kernel to TTIR with the real Triton. Development only; no GPU needed.

    python kernels/compile.py [--check] [PATH ...]

PATH is a launch file or a folder searched for them (default: `kernels/`, `tests/fail/`, `tests/pass/` and
`xtask/bench/`).
Each `STEM.launch.toml` is compiled from the function that its `kernel = "FILE.py::FUNCTION"` names; one that names
`kernel = "STEM.ttir"`, from the function `NAME_kernel` or `NAME` of the only `.py` beside it, NAME being STEM up to the
first `-`. The result replaces `STEM.ttir`; the same inputs give the same bytes. With `--check` nothing is written, and
the exit status is 1 if a committed `.ttir` differs.

The launch file is the single source of what Triton's launcher would know:
* argument types: the dtype of a tensor, or of the one that a descriptor describes; i32 (i64 if too large), fp32 or i1 for a scalar, or what `{ dtype, value }` says;
* `[constexprs]`, evaluated;
* `tt.divisibility = 16` for a pointer whose address, and an integer whose value, is a multiple of 16. Storage starts
  on 512 bytes, so a pointer's address is known from its offset. UNTRUE_HINTS lists deliberate exceptions.
Arguments equal to 1 stay arguments (Triton's launcher would make them constants).

Locations are rewritten to stay readable on every machine: the kernel's file relative to the `.ttir`, Triton's own
library as `triton/language/FILE.py`. A kernel whose file uses `device_assert` is compiled with `debug=1`, without which
Triton drops asserts.
"""
import argparse
import importlib.util
import os
import re
import sys
import tomllib
from pathlib import Path

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # does not reach TTIR; unset, Triton warns
os.environ.pop("TRITON_INTERPRET", None)  # would turn kernels into plain Python functions
sys.dont_write_bytecode = True

TRITON_VERSION = "3.9.0"  # another version prints other text: change it here and commit what changes
TARGET = ("cuda", 90, 32)  # TTIR hardly depends on it

ROOT = Path(__file__).resolve().parent.parent

# Types that a launch file does not show: {launch file: {argument that is "none": its type}}.
NULL_POINTERS = {
    "tests/fail/wild-pointer/missing_bias/fault.launch.toml": {"bias_ptr": "*fp32"},
    "tests/fail/wild-pointer/missing_bias/twin.launch.toml": {"bias_ptr": "*fp32"},
}

# Launches that break the promise under which their kernel was compiled: {launch file: arguments marked divisible}.
UNTRUE_HINTS = {
    "tests/fail/hint-violated/stale_specialization/fault.launch.toml": ["row_stride"],
}

DTYPES = {
    "i1": "i1", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64",
    "u8": "u8", "u16": "u16", "u32": "u32", "u64": "u64",
    "f8e4m3": "fp8e4nv", "f8e5m2": "fp8e5", "f16": "fp16", "bf16": "bf16", "f32": "fp32", "f64": "fp64",
}  # yapf: disable


def bytes_of(dtype):
    return max(1, int(re.sub(r"e.*", "", dtype.removeprefix("bf").lstrip("iuf"))) // 8)


FUNCTIONS = {
    "min": min, "max": max, "abs": abs,
    "cdiv": lambda a, b: -(-a // b),
    "next_power_of_2": lambda x: 1 << max(0, (x - 1).bit_length()),
    "prev_power_of_2": lambda x: 1 << (x.bit_length() - 1),
    "align": lambda x, m: -(-x // m) * m,
    "true": True, "false": False, "none": None,
}  # yapf: disable


def evaluate(expression, names):
    """The value of a launch file's expression. The expression language is a subset of Python's."""
    if not isinstance(expression, str):
        return expression
    return eval(compile(expression, "<expression>", "eval"), {"__builtins__": {}}, {**FUNCTIONS, **names})


def scalar_type(value):
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, int):
        return "i32" if -(2**31) <= value < 2**31 else "i64"
    return "fp32"


def pointer_offset(entry, names):
    """Elements from the start of a tensor's storage to its element 0: with negative strides, not the first."""
    if "offset" in entry:
        return evaluate(entry["offset"], names)
    lengths = [evaluate(length, names) for length in entry.get("shape", [])]
    strides = [evaluate(stride, names) for stride in entry.get("strides", [0] * len(lengths))]
    return sum((length - 1) * -stride for length, stride in zip(lengths, strides) if stride < 0)


def read_launch(launch):
    """(signature, divisible arguments, constexprs) of a launch file, in Triton's spelling."""
    names = {k: v["value"] if isinstance(v, dict) else v for k, v in launch.get("vars", {}).items()}
    signature, divisible, tensors = {}, [], {}
    for name, entry in launch["args"].items():
        if isinstance(entry, dict) and "value" not in entry:
            tensors[name] = entry
            continue
        value = evaluate(entry["value"] if isinstance(entry, dict) else entry, names)
        if value is None:
            divisible.append(name)
            continue
        given = entry.get("dtype") if isinstance(entry, dict) else None
        signature[name] = DTYPES[given] if given else scalar_type(value)
        names.setdefault(name, value)
        if isinstance(value, int) and not isinstance(value, bool) and value % 16 == 0:
            divisible.append(name)
    constexprs = {}
    for name, entry in launch.get("constexprs", {}).items():
        constexprs[name] = evaluate(entry["value"] if isinstance(entry, dict) else entry, names)
        names.setdefault(name, constexprs[name])
    for name, entry in tensors.items():
        if "descriptor_of" in entry:
            described = {**launch.get("tensors", {}), **launch["args"]}[entry["descriptor_of"]]
            block = [evaluate(size, names) for size in entry["block_shape"]]
            signature[name] = f"tensordesc<{DTYPES[described['dtype']]}{block}>"
            continue
        signature[name] = "*" + DTYPES[entry["dtype"]]
        if pointer_offset(entry, names) * bytes_of(entry["dtype"]) % 16 == 0:
            divisible.append(name)
    return signature, divisible, constexprs


def import_file(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def relative_locations(text, folder, triton_folder):
    def rewrite(match):
        path = Path(match[1])
        if path.is_relative_to(folder):
            return f'loc("{path.relative_to(folder).as_posix()}":'
        if path.is_relative_to(triton_folder):
            return f'loc("{path.relative_to(triton_folder.parent).as_posix()}":'
        sys.exit(f"{path}: a location outside {folder} and Triton's library cannot be made relative")

    return re.sub(r'loc\("(/[^"]*)":', rewrite, text)


def compile_launch(launch_path, triton):
    """The TTIR of a launch file's kernel, after Triton's own passes of that level."""
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, make_backend

    launch = tomllib.loads(launch_path.read_text())
    stem = launch_path.name.removesuffix(".launch.toml")
    path, _, name = launch["kernel"].partition("::")
    sources = [launch_path.parent / path] if path.endswith(".py") else list(launch_path.parent.glob("*.py"))
    if not (path.endswith(".py") or path == f"{stem}.ttir") or len(sources) != 1:
        sys.exit(f"{launch_path}: expected a kernel of a .py file, or {stem}.ttir and one .py file beside it")
    module = import_file(sources[0])
    name = name or stem.split("-")[0]
    function = getattr(module, name, None) or getattr(module, f"{name}_kernel", None)
    if not isinstance(function, triton.runtime.JITFunction):
        sys.exit(f"{sources[0]}: no @triton.jit function {name} or {name}_kernel")

    signature, divisible, constexprs = read_launch(launch)
    key = launch_path.relative_to(ROOT).as_posix()
    signature |= NULL_POINTERS.get(key, {})
    divisible += UNTRUE_HINTS.get(key, [])
    given = {**signature, **dict.fromkeys(constexprs, "constexpr")}
    missing = [p for p in function.arg_names if p not in given]
    unknown = [p for p in signature if p not in function.arg_names]
    if missing or unknown:
        sys.exit(f"{launch_path}: missing arguments {missing}, unknown arguments {unknown}")
    source = ASTSource(
        function,
        signature={p: given[p] for p in function.arg_names},
        constexprs={k: v for k, v in constexprs.items() if k in function.arg_names},
        attrs={(function.arg_names.index(p),): [["tt.divisibility", 16]] for p in divisible},
    )
    target = GPUTarget(*TARGET)
    backend = make_backend(target)
    options = backend.parse_options({"debug": "device_assert" in sources[0].read_text()})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    stages = {}
    backend.add_stages(stages, options, source.language)
    module = source.make_ir(target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
    text = str(stages["ttir"](module, {}))
    return relative_locations(text, launch_path.parent, Path(triton.__file__).parent)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a .ttir would change")
    parser.add_argument("paths", nargs="*", type=Path, default=[ROOT / p for p in ("kernels", "tests/fail", "tests/pass", "xtask/bench")])
    args = parser.parse_args()
    try:
        import triton
    except ImportError:
        sys.exit(f"compile.py needs Triton: pip install triton=={TRITON_VERSION}")
    if triton.__version__ != TRITON_VERSION:
        sys.exit(f"compile.py needs Triton {TRITON_VERSION}, found {triton.__version__}: its text would differ")

    changed = []
    for path in args.paths:
        launches = [path] if path.is_file() else sorted(path.rglob("*.launch.toml"))
        for launch_path in map(Path.resolve, launches):
            output = launch_path.with_name(launch_path.name.removesuffix(".launch.toml") + ".ttir")
            text = compile_launch(launch_path, triton)
            if not output.exists() or output.read_text() != text:
                changed.append(output.relative_to(ROOT))
                if not args.check:
                    output.write_text(text)
    for path in changed:
        print(f"{'differs' if args.check else 'wrote'} {path}")
    sys.exit(1 if args.check and changed else 0)


if __name__ == "__main__":
    main()
