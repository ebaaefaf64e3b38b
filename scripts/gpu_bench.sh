#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the benchmarks on the NVIDIA driver: gpu_bench.sh [PROGRAM_OR_BUILD_FOLDER].
# The C++ program is in the given build folder (or is the given file), else it is built here. The
# extension comes from scripts/gpu_check.sh's build (build/gpu/site), which is made if need be.
# PYTHON chooses the interpreter, CCCL a folder with CCCL's headers, OUT the folder that gets the
# JSON files and the tables (default build/bench), COMMIT is recorded with them. Ends with a short
# table. bench/report.py makes docs/benchmarks.md and its plots of the JSON files.
set -uo pipefail
outer_path=$PATH
# shellcheck source=scripts/steps.sh
. "$(dirname "$0")/steps.sh"
PATH=$outer_path  # a .venv that lies here plays no part

python=${PYTHON:-python3}
out=${OUT:-build/bench}
site=build/gpu/site
commit=${COMMIT:-$(git describe --always --dirty 2>/dev/null || echo unknown)}
export HOSTLAUNCH_DRIVER=${HOSTLAUNCH_DRIVER:-cuda} PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$PWD/$site
mkdir -p "$out"
rm -f "$out/cpp.json" "$out/python.json"

program=${1:-build/gpu-bench}
if [ -z "${1:-}" ]; then
    step "building the C++ benchmarks"
    scripts/build.sh benchmarks "$program" -DHOSTLAUNCH_CCCL="${CCCL:-}" || program=
fi
[ ! -d "$program" ] || program=$program/bench/hostlaunch_bench
if [ -x "$program" ]; then
    step "measuring from C++"
    bounded 'C++ benchmarks' 120 "$program" --commit "$commit" --json "$out/cpp.json" \
        >"$out/cpp.txt"
else
    failed=1
    echo 'no C++ program: build it with -DHOSTLAUNCH_BUILD_BENCHMARKS=ON and name the folder'
fi

if ! "$python" -c 'import hostlaunch' 2>/dev/null; then
    step "building the extension for $("$python" --version)"
    scripts/build.sh extension build/gpu || failed=1
fi
step "measuring from Python"
bounded 'Python benchmarks' 200 "$python" bench/python_launch.py --commit "$commit" \
    --json "$out/python.json" >"$out/python.txt"

step "measuring futures"
bounded 'futures' 200 "$python" bench/futures.py --commit "$commit" \
    --json "$out/futures.json" >"$out/futures.txt"
cat "$out/futures.txt"

step "summary (everything is in $out/cpp.txt and $out/python.txt)"
"$python" bench/summary.py "$out/cpp.json" "$out/python.json" || failed=1
printf '%s\n' "${summary[@]}"
exit "$failed"
