"""Writes the launch files of the benchmarks and their TTIR. Usage: launches.py TILESCOPE_BINARY

Each launch is one problem with one block size; the number of warps is searched where it is timed.
`cases()` is also what `triton_bench.py` times, so both see the same problems.
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SIZE = {"f32": 4, "f16": 2, "i64": 8}


def pow2(n):
    return 1 << (n - 1).bit_length()


def tensor(dtype, shape, role, fill="randn"):
    return dict(dtype=dtype, shape=shape, role=role, fill=fill)


def cases():
    """Rows: name, kernel, grid, args (in order), constexprs, bytes moved at least."""
    out = []

    def add(name, kernel, grid, args, consts, nbytes):
        out.append(dict(name=name, kernel=kernel, grid=grid, args=args, consts=consts, bytes=nbytes))

    m = 8192
    for dt in ("f32", "f16"):
        for n in (781, 1000, 1024, 4096, 8192, 12345):
            nb = 2 * m * n * SIZE[dt]
            add(f"softmax-{dt}-{n}", "softmax_rows", [m],
                dict(x_ptr=tensor(dt, [m, n], "in"), y_ptr=tensor(dt, [m, n], "out", "zeros"), n=n, stride=n), dict(BLOCK=pow2(n)), nb)
            if n > 8192:
                for b in (2048, 4096):
                    add(f"softmax-{dt}-{n}-loop{b}", "softmax_loop", [m],
                        dict(x_ptr=tensor(dt, [m, n], "in"), y_ptr=tensor(dt, [m, n], "out", "zeros"), n=n), dict(BLOCK=b), nb)
    for n in (4096, 8192):
        nb = 2 * m * n * 2
        add(f"layernorm-f16-{n}", "layernorm_rows", [m],
            dict(x_ptr=tensor("f16", [m, n], "in"), w_ptr=tensor("f16", [n], "in"), b_ptr=tensor("f16", [n], "in"),
                 y_ptr=tensor("f16", [m, n], "out", "zeros"), n=n, eps=1e-5), dict(BLOCK=n), nb)
        add(f"rmsnorm-f16-{n}", "rmsnorm_rows", [m],
            dict(x_ptr=tensor("f16", [m, n], "in"), w_ptr=tensor("f16", [n], "in"),
                 y_ptr=tensor("f16", [m, n], "out", "zeros"), n=n, eps=1e-5), dict(BLOCK=n), nb)
    m, n = 16384, 4096
    for dt in ("f16", "f32"):
        for b in (1024, 2048, 4096):
            add(f"bias_gelu-{dt}-b{b}", "bias_gelu_scale", [n // b, m],
                dict(x_ptr=tensor(dt, [m, n], "in"), b_ptr=tensor(dt, [n], "in"), y_ptr=tensor(dt, [m, n], "out", "zeros"),
                     n=n, scale=1.7), dict(BLOCK=b), 2 * m * n * SIZE[dt])
    n = 1 << 27
    for b in (1024, 2048, 4096):
        add(f"vector_add-f32-b{b}", "vector_add", [n // b],
            dict(a_ptr=tensor("f32", [n], "in"), b_ptr=tensor("f32", [n], "in"), c_ptr=tensor("f32", [n], "out", "zeros"), n=n),
            dict(BLOCK=b), 12 * n)
    n = 1 << 26
    for b in (1024, 2048):
        add(f"dropout-f32-b{b}", "dropout_philox", [n // b],
            dict(x_ptr=tensor("f32", [n], "in"), y_ptr=tensor("f32", [n], "out", "zeros"), n=n, p=0.1, scale=1 / 0.9, seed=123),
            dict(BLOCK=b), 8 * n)
    for b in (512, 1024):
        add(f"dropout4-f32-b{b}", "dropout_philox4", [n // (4 * b)],
            dict(x_ptr=tensor("f32", [n], "in"), y_ptr=tensor("f32", [n], "out", "zeros"), n=n, p=0.1, scale=1 / 0.9, seed=123),
            dict(BLOCK=b), 8 * n)
    n = 8192
    for bm, bn in ((32, 32), (64, 64), (32, 128), (128, 32)):
        add(f"transpose-f32-{bm}x{bn}", "transpose_copy", [n // bm, n // bn],
            dict(x_ptr=tensor("f32", [n, n], "in"), y_ptr=tensor("f32", [n, n], "out", "zeros"), rows=n, cols=n),
            dict(BM=bm, BN=bn), 8 * n * n)
    b, h, s, d = 4, 32, 4096, 128
    for bn in (16, 32, 64):
        add(f"rope-f16-n{bn}", "rope_half", [s // bn, b * h],
            dict(x_ptr=tensor("f16", [b * h, s, d], "in"), cos_ptr=tensor("f32", [s, d // 2], "in"),
                 sin_ptr=tensor("f32", [s, d // 2], "in"), y_ptr=tensor("f16", [b * h, s, d], "out", "zeros"), seq=s),
            dict(D=d, BN=bn), 4 * b * h * s * d + 4 * s * d)
    n = 16384
    for blk in (1024, 2048, 4096, 16384):
        add(f"row_sum-f32-b{blk}", "row_sum", [n],
            dict(x_ptr=tensor("f32", [n, n], "in"), y_ptr=tensor("f32", [n], "out", "zeros"), n=n), dict(BLOCK=blk), 4 * n * n + 4 * n)
    for bm, bn, split in ((16, 128, 32), (8, 256, 64), (32, 128, 64)):
        add(f"col_sum_part-f32-{bm}x{bn}-s{split}", "col_sum_part", [n // bn, split],
            dict(x_ptr=tensor("f32", [n, n], "in"), part_ptr=tensor("f32", [split, n], "out", "zeros"), rows=n, n=n, per=n // split),
            dict(BM=bm, BN=bn), 4 * n * n + 4 * n * split)
    m, v = 4096, 32000
    for blk in (2048, 4096):
        add(f"cross_entropy-f16-b{blk}", "cross_entropy_rows", [m],
            dict(x_ptr=tensor("f16", [m, v], "in"), t_ptr=tensor("i64", [m], "in", "index"), loss_ptr=tensor("f32", [m], "out", "zeros"), n=v),
            dict(BLOCK=blk), m * v * 2 + m * 4)
    add("cross_entropy-f16-whole", "cross_entropy_whole", [m],
        dict(x_ptr=tensor("f16", [m, v], "in"), t_ptr=tensor("i64", [m], "in", "index"), loss_ptr=tensor("f32", [m], "out", "zeros"), n=v),
        dict(BLOCK=32768), m * v * 2 + m * 4)
    m, n = 4096, 8192
    add("cumsum-f32", "cumsum_rows", [m],
        dict(x_ptr=tensor("f32", [m, n], "in"), y_ptr=tensor("f32", [m, n], "out", "zeros"), n=n), dict(BLOCK=n), 2 * m * n * 4)
    return out


def launch_text(case):
    fills = {"randn": '"randn"', "zeros": '"zeros"', "index": '"arange"'}

    def arg(value):
        if isinstance(value, dict):
            fill = "" if value["role"] == "out" else f', fill = {fills[value["fill"]]}'
            return f'{{ dtype = "{value["dtype"]}", shape = {value["shape"]}, role = "{value["role"]}"{fill} }}'
        return repr(value)

    lines = [f'kernel = "kernels.py::{case["kernel"]}"', f'grid   = {case["grid"]}', "", "[args]"]
    lines += [f"{name} = {arg(value)}" for name, value in case["args"].items()]
    lines += ["", "[constexprs]"] + [f"{name} = {value}" for name, value in case["consts"].items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for case in cases():
        path = os.path.join(HERE, case["name"] + ".launch.toml")
        with open(path, "w") as f:
            f.write(launch_text(case))
        text = subprocess.run([sys.argv[1], "emit", path, "--ttir"], check=True, capture_output=True, text=True).stdout
        with open(path.replace(".launch.toml", ".ttir"), "w") as f:
            f.write(text)
        print(case["name"])
