#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs all benchmarks on the embedded driver, in short: what works, not what a GPU costs.
# Expects .venv with the package in it (make build). JSON goes to build/bench.
set -euo pipefail
# shellcheck source=scripts/steps.sh
. "$(dirname "$0")/steps.sh"

build=build/bench
export HOSTLAUNCH_DRIVER=embedded PYTHONDONTWRITEBYTECODE=1
commit=$(git describe --always --dirty 2>/dev/null || echo unknown)

step "building the C++ benchmarks"
scripts/build.sh benchmarks "$build"
bounded 'C++ benchmarks' 90 "$build/bench/hostlaunch_bench" --quick --commit "$commit" \
    --json "$build/cpp-embedded.json"
bounded 'Python benchmarks' 120 "$venv/bin/python" bench/python_launch.py --quick \
    --commit "$commit" --json "$build/python-embedded.json"
step "summary"
"$venv/bin/python" bench/summary.py "$build/cpp-embedded.json" "$build/python-embedded.json"
if command -v valgrind >/dev/null; then
    bounded 'instructions' 90 "$venv/bin/python" scripts/instruction_check.py "$build"
else
    step "instructions: not counted, valgrind is not installed"
fi
