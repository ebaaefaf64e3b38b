#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Counts our instructions per launch and per callback, and fails if they exceed their limits.
set -euo pipefail
# shellcheck source=scripts/steps.sh
. "$(dirname "$0")/steps.sh"

build=$root/build/instructions
step "building for the instruction count"
{
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DHOSTLAUNCH_BUILD_BENCHMARKS=ON && cmake --build "$build"
} >"$build.log" 2>&1 || {
    cat "$build.log" >&2
    die "the build of the benchmarks failed"
}
step "counting instructions"
"$venv/bin/python" scripts/instruction_check.py "$build" "$@"
