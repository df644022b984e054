#!/bin/sh
# On the machine with the GPU: sh run.sh [OUT]. Drawn cases (`diff`, with Triton too where python3 has it), planted errors (`bisect`), random kernels, tests, the
# command line, then benchmarks as far as there is time. Ends within TOTAL seconds. PARTS names what is run.
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/out}
mkdir -p "$out"
if [ -z "$TILESCOPE_NVRTC" ]; then
  # A Python wheel's NVRTC (PyTorch brings one), where there is one; else the system's.
  TILESCOPE_NVRTC=$(python3 -c 'import glob, site, sys; print(next(iter(sorted(f.rsplit("/", 1)[0] for p in [*site.getsitepackages(), site.getusersitepackages(), *sys.path] for f in glob.glob(p + "/nvidia/*/lib/libnvrtc.so*"))), ""))' 2>/dev/null)
  [ -n "$TILESCOPE_NVRTC" ] && export TILESCOPE_NVRTC || unset TILESCOPE_NVRTC
fi
echo "NVRTC: ${TILESCOPE_NVRTC:-the system's}"
chmod +x "$here/gpu-runner" "$here/gpu-fuzz" "$here/tilescope" 2>/dev/null
began=$(date +%s)
total=${TOTAL:-560}
left() { echo $((total - $(date +%s) + began)); }
parts=${PARTS:-record diff bisect triton fuzz test cli bench}
asked() { case " $parts " in *" $1 "*) return 0 ;; esac; echo "$1: not asked for"; return 1; }
triton=
python3 -c 'import triton' 2>/dev/null && triton=yes
[ -n "$triton" ] || echo "triton: skipped, python3 has none"

# Drawn cases of the kernels, recorded for the tests of machines without a GPU. A process for each folder: compiling takes the time.
if asked record && [ -x "$here/gpu-fuzz" ]; then
  mkdir -p "$out/drawn"
  for folder in "$here"/kernels/*/; do
    name=$(basename "$folder")
    (
      timeout -k 5 100 "$here/gpu-fuzz" record --cases "${RECORDED:-8}" --limit "${RECORD_LIMIT:-75}" --out "$out/drawn/$name" "$folder" >"$out/drawn/$name.log" 2>&1
      echo "exit status $?" >>"$out/drawn/$name.log"
    ) &
  done
  wait
  first=$(ls "$out"/drawn/*/drawn.jsonl 2>/dev/null | head -n 1)
  if [ -n "$first" ]; then
    head -n 1 "$first" >"$out/drawn.jsonl"
    for part in "$out"/drawn/*/drawn.jsonl; do tail -n +2 "$part" >>"$out/drawn.jsonl"; done
  fi
  grep -h . "$out"/drawn/*.log | sort -u >"$out/record.log"
  cat "$out/record.log"
  echo "record: $(wc -l <"$out/drawn.jsonl") lines, $(wc -c <"$out/drawn.jsonl") bytes, $(left) s left"
fi

# `tilescope diff` of a launch file on the GPU: diff_one PATH CASES SECONDS FILE [OPTIONS]; a line to $out/diff.log.
diff_one() {
  path=$1 cases=$2 seconds=$3 file=$4
  shift 4
  name=$(basename "$file" .launch.toml)
  log="$out/diff/$name-$path.log"
  timeout -s INT -k 10 "$seconds" "$here/tilescope" diff "$file" --paths "$path" --cases "$cases" --seed "${SEED:-1}" --threads 2 --no-write "$@" >"$log" 2>&1
  status=$?
  if [ $status -eq 2 ] && grep -q 'dtypes' "$log"; then
    timeout -s INT -k 10 "$seconds" "$here/tilescope" diff "$file" --paths "$path" --cases "$cases" --seed "${SEED:-1}" --threads 2 --no-write >"$log" 2>&1
    status=$?
  fi
  said=$(grep -E 'cases run|runs of|compared|not run on|no bound|^error|^verdict' "$log" | sed 's/^.*: \([0-9]* cases run\)/\1/' | tr '\n' ';' | cut -c 1-600)
  echo "$path $name: exit status $status; $said" >>"$out/diff.log"
}
base() { ls "$here"/kernels/*/*.launch.toml | grep -vE -- '-(f16|bf16)\.launch\.toml$'; }
mkdir -p "$out/diff"
export TILESCOPE_CACHE="$out/cache"
if asked diff && [ -x "$here/tilescope" ]; then
  # The three types of every kernel; TTIR of f16 and bf16 is above.
  for file in $(base); do
    diff_one gpu "${CASES:-80}" "${DIFF_LIMIT:-110}" "$file" --dtypes f32,f16,bf16 &
  done
  wait
  echo "diff: $(left) s left"
fi
# An error that is planted in our code: bisect_one KERNEL RIGHT=>WRONG WORDS; `--bisect` must say the words. A line to $out/bisect.log.
bisect_one() {
  kernel=$1 plant=$2 words=$3
  log="$out/diff/$kernel-bisect.log"
  TILESCOPE_PLANT=$plant timeout -s INT -k 10 "${BISECT_LIMIT:-75}" "$here/tilescope" diff "$here/kernels/$kernel/$kernel.launch.toml" --paths gpu --bisect --cases 20 --seed "${SEED:-1}" --threads 2 --no-write >"$log" 2>&1
  status=$?
  said=$(grep -m 1 '^error' "$log" | cut -c 1-400)
  case $said in *"$words"*) verdict=ok ;; *) verdict=FAILED ;; esac
  echo "bisect $kernel: $verdict, exit status $status; $said" >>"$out/bisect.log"
}
if asked bisect && [ -x "$here/tilescope" ]; then
  bisect_one softmax 'ts::exp(=>ts::exp(0.5f * ' 'made here (math.exp)' &
  bisect_one layer_norm 'ts::sqrt(=>1.5f * ts::sqrt(' 'made here (math.sqrt)' &
  bisect_one matmul 'k < 32; ++k=>k < 31; ++k' 'made here (tt.dot)' &
  bisect_one flash_attention 'ts::exp2(=>ts::exp2(0.5f * ' 'made here (math.exp2)' &
  wait
  sort "$out/bisect.log"
  echo "bisect: $(left) s left"
fi
if asked triton && [ -n "$triton" ] && [ -x "$here/tilescope" ]; then
  for name in vector_add softmax layer_norm matmul flash_attention cumsum; do
    diff_one triton "${TRITON_CASES:-12}" "${TRITON_LIMIT:-75}" "$here/kernels/$name/$name.launch.toml" --dtypes f32,f16,bf16 &
  done
  wait
  echo "triton: $(left) s left"
fi
rm -rf "$out/cache"
unset TILESCOPE_CACHE
[ -f "$out/diff.log" ] && sort "$out/diff.log"
for log in "$out"/diff/*.log; do
  grep -q 'verdict: a case differs' "$log" 2>/dev/null && { echo "== $log"; head -n 60 "$log"; }
done

# Random kernels for so many seconds, seed after seed: random_kernels NAME SECONDS [OPTIONS]. A kernel that hangs costs the process, so it is begun
# again behind that one.
random_kernels() {
  name=$1 until=$(($(left) - $2))
  shift 2
  tries=0
  while [ "$(left)" -gt $((until + 5)) ] && [ $tries -lt 8 ]; do
    tries=$((tries + 1))
    log="$out/$name-$tries.log"
    "$here/gpu-fuzz" kernels --seed "${SEED:-1}" --limit $(($(left) - until)) --out "$out/$name" "$@" >"$log" 2>&1 &
    runner=$!
    while kill -0 $runner 2>/dev/null; do
      sleep 1
      if grep -q '^HUNG' "$log" || [ "$(left)" -lt $((until - 25)) ]; then
        sleep 2
        kill -9 $runner 2>/dev/null
      fi
    done
    wait $runner
    status=$?
    echo "$name, part $tries: exit status $status, $(left) s left"
    # What kernels print is not for here.
    grep -v '^pid (' "$log" | tail -n 40
    [ $status -eq 99 ] || [ $status -eq 124 ] || [ $status -eq 137 ] || break
  done
}

# Those that once failed first; then kernels that Triton compiles, by its code too.
if asked fuzz && [ -x "$here/gpu-fuzz" ]; then
  random_kernels fuzz "${FUZZ_LIMIT:-110}" --kept "$here/kept"
  [ -n "$triton" ] && random_kernels fuzz-triton "${TRITON_FUZZ_LIMIT:-60}" --triton python3
  rm -rf "$out"/fuzz-triton/triton-*
fi

if asked test; then
  # Every kernel against the interpreter, and checked builds of kernels with a fault. A kernel that hangs costs the process.
  test_until=$(($(left) - ${TEST_LIMIT:-100}))
  tries=0
  while [ "$(left)" -gt "$test_until" ] && [ $tries -lt 12 ]; do
    tries=$((tries + 1))
    limit=$(($(left) - test_until))
    "$here/gpu-runner" test --shapes "${SHAPES:-8}" --limit "$limit" --out "$out" "$here/kernels" "$here/ops" "$here/fail" >"$out/test-$tries.log" 2>&1 &
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
  tail -n 60 "$out/test-$tries.log"
fi

# The command line: first results with and without a cache, findings, Triton's code.
if asked cli && [ -x "$here/tilescope" ]; then
  (
    for i in 1; do
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
if asked bench && [ "$(left)" -gt 90 ]; then
  python=
  [ -n "$triton" ] && python="--python python3"
  timeout -k 5 $(($(left) - 5)) "$here/gpu-runner" bench --limit $(($(left) > 60 ? $(left) - 45 : 15)) $python "$here/bench" >"$out/bench.log" 2>&1
  echo "bench: exit status $?, $(left) s left"
  sed -n '/^problem/,$p' "$out/bench.log"
else
  echo "bench: skipped"
fi
