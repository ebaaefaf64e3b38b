#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the C++ tests under the sanitizers.
set -euo pipefail
# shellcheck source=scripts/steps.sh
. "$(dirname "$0")/steps.sh"

for preset in asan tsan; do
    step "building the C++ tests (preset $preset)"
    scripts/cmake_build.sh "$preset"
    step "running the C++ tests (preset $preset)"
    # The thread sanitizer of older compilers cannot map its memory where addresses are spread
    # widely; a fixed layout (-R) is what works on every kernel.
    log=build/$preset/ctest.log
    setarch -R ctest --preset "$preset" -j "$(nproc)" >"$log" 2>&1 || {
        grep -vE '^ *Start +[0-9]+:|^ *[0-9]+/[0-9]+ Test .* Passed ' "$log" >&2
        die "failed in the preset $preset"
    }
done
