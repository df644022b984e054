//! `cargo xtask gpu`: everything that is run on a machine with a GPU, as one folder that needs no cargo there.
//!
//! The folder holds the runner, the kernels with their launch files, the benchmark's scripts, and `run.sh`, which does it all. The
//! runner is a program of this machine's C library or later.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// What `run.sh` is.
const SCRIPT: &str = r#"#!/bin/sh
# On the machine with the GPU: sh run.sh [OUT]. Tests, then benchmarks (with Triton, where python3 has it), then one table.
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/out}
mkdir -p "$out"
if [ -z "$TILESCOPE_NVRTC" ]; then
  # A Python wheel's NVRTC (PyTorch brings one), where there is one; else the system's.
  TILESCOPE_NVRTC=$(python3 -c 'import glob, site, sys; print(next(iter(sorted(f.rsplit("/", 1)[0] for p in [*site.getsitepackages(), site.getusersitepackages(), *sys.path] for f in glob.glob(p + "/nvidia/*/lib/libnvrtc.so*"))), ""))' 2>/dev/null)
  [ -n "$TILESCOPE_NVRTC" ] && export TILESCOPE_NVRTC || unset TILESCOPE_NVRTC
fi
echo "NVRTC: ${TILESCOPE_NVRTC:-the system's}"
chmod +x "$here/gpu-runner" 2>/dev/null
test_limit=${TEST_LIMIT:-230}
timeout $((test_limit + 20)) "$here/gpu-runner" test --shapes "${SHAPES:-50}" --limit "$test_limit" --out "$out" "$here/kernels" "$here/ops" >"$out/test.log" 2>&1
echo "test: exit status $?"; tail -n 90 "$out/test.log"
if python3 -c 'import triton, torch' 2>/dev/null; then
  (cd "$here/bench" && timeout "${TRITON_LIMIT:-170}" python3 triton_bench.py "$out/triton.tsv" $NAMES) >"$out/triton.log" 2>&1
  echo "triton: exit status $?"
fi
timeout "${BENCH_LIMIT:-140}" "$here/gpu-runner" bench --beside "$out/triton.tsv" "$here/bench" >"$out/bench.log" 2>&1
echo "bench: exit status $?"; sed -n '/^problem/,$p' "$out/bench.log"
"#;

/// Builds the folder `target/gpu`.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    let profile = if args.iter().any(|a| a == "--dev") {
        "dev"
    } else {
        "release"
    };
    super::cargo(
        &[
            "build",
            "--profile",
            profile,
            "--package",
            "tilescope-gpu-backend",
            "--example",
            "gpu-runner",
        ],
        &[],
    )?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let folder = target.join("gpu");
    let built = if profile == "dev" { "debug" } else { profile };
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let runner = target.join(built).join("examples/gpu-runner");
    std::fs::copy(&runner, folder.join("gpu-runner"))
        .with_context(|| format!("cannot copy {}", runner.display()))?;
    for (from, to) in [
        ("kernels", "kernels"),
        ("tests/pass", "ops"),
        ("tests/gpu/bench", "bench"),
    ] {
        copy(&root.join(from), &folder.join(to))?;
    }
    std::fs::write(folder.join("run.sh"), SCRIPT)?;
    println!(
        "{}: copy it to the machine with the GPU and run `sh run.sh` there",
        folder.display()
    );
    Ok(())
}

/// What launches consist of (launch files, TTIR, data) and scripts, in the same folders.
fn copy(from: &Path, to: &Path) -> Result<()> {
    for entry in std::fs::read_dir(from).into_iter().flatten() {
        let path = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        let kind = path.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
        if path.is_dir() {
            copy(&path, &target)?;
        } else if ["toml", "ttir", "py", "npy"].contains(&kind) {
            std::fs::create_dir_all(to)?;
            std::fs::copy(&path, &target)?;
        }
    }
    Ok(())
}
