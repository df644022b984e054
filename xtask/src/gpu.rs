//! `cargo xtask gpu`: everything that is run on a machine with a GPU, as one folder that needs no cargo there.
//!
//! The folder holds the runner and the command line, kernels with their launch files, and `run.sh`, which does it all. The programs
//! are for this machine's C library or later. `cases.log` and `recorded.jsonl` are what comes back; the latter belongs to
//! `tests/gpu/recorded/`.

use std::path::Path;

use anyhow::{Context, Result};

/// What `run.sh` is.
const SCRIPT: &str = r#"#!/bin/sh
# On the machine with the GPU: sh run.sh [OUT]. Tests, the command line, then benchmarks (with Triton, where python3 has it). Ends
# within TOTAL seconds.
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/out}
mkdir -p "$out"
if [ -z "$TILESCOPE_NVRTC" ]; then
  # A Python wheel's NVRTC (PyTorch brings one), where there is one; else the system's.
  TILESCOPE_NVRTC=$(python3 -c 'import glob, site, sys; print(next(iter(sorted(f.rsplit("/", 1)[0] for p in [*site.getsitepackages(), site.getusersitepackages(), *sys.path] for f in glob.glob(p + "/nvidia/*/lib/libnvrtc.so*"))), ""))' 2>/dev/null)
  [ -n "$TILESCOPE_NVRTC" ] && export TILESCOPE_NVRTC || unset TILESCOPE_NVRTC
fi
echo "NVRTC: ${TILESCOPE_NVRTC:-the system's}"
chmod +x "$here/gpu-runner" "$here/tilescope" 2>/dev/null
began=$(date +%s)
total=${TOTAL:-560}
left() { echo $((total - $(date +%s) + began)); }

# Every kernel against the interpreter, and checked builds of kernels with a fault. A kernel that hangs costs the process.
test_until=$((total - ${TEST_LIMIT:-230}))
tries=0
while [ "$(left)" -gt "$test_until" ] && [ $tries -lt 12 ]; do
  tries=$((tries + 1))
  limit=$(($(left) - test_until))
  "$here/gpu-runner" test --shapes "${SHAPES:-50}" --limit "$limit" --out "$out" "$here/kernels" "$here/ops" "$here/fail" >"$out/test-$tries.log" 2>&1 &
  runner=$!
  # A process whose kernel hangs may hang in its own end.
  while kill -0 $runner 2>/dev/null; do
    sleep 1
    if grep -q '^HUNG' "$out/test-$tries.log" || [ "$(left)" -lt $((test_until - 25)) ]; then
      sleep 2
      kill -9 $runner 2>/dev/null
    fi
  done
  wait $runner
  status=$?
  echo "test, part $tries: exit status $status, $(left) s left"
  [ $status -eq 99 ] || [ $status -eq 124 ] || [ $status -eq 137 ] || break
done
tail -n 180 "$out/test-$tries.log"

# The command line: first results with and without a cache, findings, Triton's code.
if [ -x "$here/tilescope" ]; then
  (
    for i in 1 2 3; do
      for pass in cold warm; do
        echo "== softmax, $pass, $i"
        TILESCOPE_CACHE="$out/cache$i" timeout 60 "$here/tilescope" run softmax --backend gpu --no-checks
      done
    done
    rm -rf "$out"/cache?
    export TILESCOPE_CACHE="$out/cache"
    for command in "check softmax --backend gpu" "check softmax --backend gpu --no-specialize" "check softmax --backend triton" \
      "check matmul-f16 --backend triton" "check flash_attention-f16 --backend triton" "check layer_norm --backend triton" \
      "check softmax --backend gpu --device 99" "run softmax --backend gpu --no-checks --format json"; do
      echo "== $command"
      timeout 60 "$here/tilescope" $command
      echo "exit status $?"
    done
    for fault in oob-load/missing_mask oob-store/hits_neighbour wild-pointer/missing_bias assert-failed/padding_lanes; do
      echo "== check $fault"
      timeout 60 "$here/tilescope" check "$here/fail/$fault/fault.launch.toml" --backend gpu
      echo "exit status $?"
    done
    rm -rf "$out/cache"
  ) >"$out/cli.log" 2>&1
  echo "command line: $(left) s left"
  cat "$out/cli.log"
fi

# Times, beside Triton's.
python=
python3 -c 'import triton' 2>/dev/null && python="--python python3"
timeout -k 5 $(($(left) - 5)) "$here/gpu-runner" bench --limit $(($(left) > 60 ? $(left) - 45 : 15)) $python "$here/bench" >"$out/bench.log" 2>&1
echo "bench: exit status $?, $(left) s left"
sed -n '/^problem/,$p' "$out/bench.log"
"#;

/// Builds the folder `target/gpu`.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    let profile = if args.iter().any(|a| a == "--dev") {
        "dev"
    } else {
        "release"
    };
    for what in [
        &["--package", "tilescope-gpu-backend", "--example", "gpu-runner"][..],
        &["--package", "tilescope-cli"],
    ] {
        super::cargo(&[&["build", "--profile", profile], what].concat(), &[])?;
    }
    let target = super::target();
    let folder = target.join("gpu");
    let built = if profile == "dev" { "debug" } else { profile };
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (program, name) in [("examples/gpu-runner", "gpu-runner"), ("tilescope", "tilescope")] {
        let program = target.join(built).join(program);
        std::fs::copy(&program, folder.join(name))
            .with_context(|| format!("cannot copy {}", program.display()))?;
    }
    for (from, to) in [
        ("kernels", "kernels"),
        ("tests/pass", "ops"),
        ("tests/fail", "fail"),
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
        let kind = path
            .extension()
            .and_then(|kind| kind.to_str())
            .unwrap_or_default();
        if path.is_dir() {
            copy(&path, &target)?;
        } else if ["toml", "ttir", "py", "npy"].contains(&kind) {
            std::fs::create_dir_all(to)?;
            std::fs::copy(&path, &target)?;
        }
    }
    Ok(())
}
