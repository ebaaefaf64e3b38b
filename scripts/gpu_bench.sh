#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the benchmarks on the NVIDIA driver: gpu_bench.sh [PROGRAM_OR_BUILD_FOLDER].
# The C++ program is in the given build folder (or is the given file), else it is built here. The
# extension comes from scripts/gpu_check.sh's build (build/gpu/site), which is made if need be.
# PYTHON chooses the interpreter, CCCL a folder with CCCL's headers, OUT the folder that gets the
# JSON files and the tables (default build/bench), COMMIT is recorded with them. Ends with a short
# table. bench/report.py makes docs/benchmarks.md and its plots of the JSON files.
set -uo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
out=${OUT:-build/bench}
site=build/gpu/site
commit=${COMMIT:-$(git describe --always --dirty 2>/dev/null || echo unknown)}
export HOSTLAUNCH_DRIVER=${HOSTLAUNCH_DRIVER:-cuda} PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$PWD/$site
mkdir -p "$out" build
failed=0

step() { printf '==> %s\n' "$*"; }

# Prints the path of the C++ program, building it if none was given.
find_program() {
    if [ -n "${1:-}" ]; then
        [ -d "$1" ] && set -- "$1/bench/hostlaunch_bench"
        [ -x "$1" ] && printf '%s\n' "$1"
        return
    fi
    cmake -S . -B build/gpu-bench -DCMAKE_BUILD_TYPE=Release -DHOSTLAUNCH_BUILD_BENCHMARKS=ON \
        -DHOSTLAUNCH_CCCL="${CCCL:-}" \
        >build/gpu-bench.log 2>&1 &&
        cmake --build build/gpu-bench --parallel >>build/gpu-bench.log 2>&1 &&
        printf '%s\n' build/gpu-bench/bench/hostlaunch_bench
}

# bench NAME LIMIT_S COMMAND...: runs it, bounded; a failure is told and the rest still runs.
bench() {
    local name=$1 limit=$2 status=0 start=$SECONDS
    shift 2
    step "$name"
    timeout --kill-after=10 "$limit" "$@" || status=$?
    [ "$status" -eq 0 ] || { failed=1 && echo "$name FAILED (exit code $status)"; }
    step "$name took $((SECONDS - start)) s"
}

rm -f "$out/cpp.json" "$out/python.json"
if program=$(find_program "$@") && [ -n "$program" ]; then
    bench 'C++ benchmarks' 120 "$program" --commit "$commit" --json "$out/cpp.json" \
        >"$out/cpp.txt"
    tail -2 "$out/cpp.txt"
else
    failed=1
    echo 'no C++ program: build it with -DHOSTLAUNCH_BUILD_BENCHMARKS=ON and name the folder'
fi

if ! "$python" -c 'import hostlaunch' 2>/dev/null; then
    step "building the extension for $("$python" --version)"
    scripts/build_extension.sh build/gpu || failed=1
fi
bench 'Python benchmarks' 200 "$python" bench/python_launch.py --commit "$commit" \
    --json "$out/python.json" >"$out/python.txt"
tail -2 "$out/python.txt"

step "summary (everything is in $out/cpp.txt and $out/python.txt)"
"$python" bench/summary.py "$out/cpp.json" "$out/python.json" || failed=1
exit "$failed"
