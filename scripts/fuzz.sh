#!/usr/bin/env bash
# Runs every target of fuzz/ for some seconds (5 by default), with a stable compiler and no cargo-fuzz.
#
#   scripts/fuzz.sh [SECONDS [TARGET...]]
#   scripts/fuzz.sh build      only builds them
#
# Seeds are in fuzz/seeds/TARGET. What it learns stays in target/fuzz/corpus, so the next run goes on from there; an input that fails
# is left in target/fuzz/artifacts, and the run says how to repeat it.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-5}
targets=("${@:2}")
if [ ${#targets[@]} = 0 ]; then
    for file in fuzz/fuzz_targets/*.rs; do
        targets+=("$(basename "$file" .rs)")
    done
fi

out=${CARGO_TARGET_DIR:-$PWD/target}/fuzz
host=$(rustc -vV | sed -n 's/^host: //p')
# Coverage for libFuzzer, by options that stable rustc has. `--target` keeps them off build scripts.
RUSTFLAGS="--cfg fuzzing -Cdebug-assertions -Cpasses=sancov-module
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares" \
    cargo build --manifest-path fuzz/Cargo.toml --target-dir "$out" --target "$host" \
    --release --bins --locked --quiet
[ "$seconds" != build ] || exit 0

# One target; what it said is in its log.
run() {
    local target=$1 log=$out/$1.log seeds=()
    mkdir -p "$out/corpus/$target" "$out/artifacts/$target"
    [ -d "fuzz/seeds/$target" ] && seeds=("fuzz/seeds/$target")
    if scripts/own-network "$out/$host/release/$target" -max_total_time="$seconds" -timeout=10 -verbosity=1 \
        -artifact_prefix="$out/artifacts/$target/" "$out/corpus/$target" "${seeds[@]}" >"$log" 2>&1; then
        sed -n "s/^Done \([0-9]*\) runs in \([0-9]*\) second.*/fuzz $target: \1 inputs in \2 s/p" "$log"
    else
        tail -n 40 "$log"
        echo "fuzz $target: FAILED; repeat: $out/$host/release/$target $(sed -n 's/.*Test unit written to //p' "$log")"
        return 1
    fi
}

running=0
failed=0
reap() {
    wait -n || failed=$((failed + 1))
    running=$((running - 1))
}
# As many at a time as there are processors.
for target in "${targets[@]}"; do
    [ "$running" -lt "$(nproc)" ] || reap
    run "$target" &
    running=$((running + 1))
done
while [ "$running" -gt 0 ]; do
    reap
done
echo "fuzz: $((${#targets[@]} - failed)) passed, $failed failed"
[ "$failed" = 0 ]
