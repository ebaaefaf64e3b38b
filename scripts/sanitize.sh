#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the C++ tests under the sanitizers, and beside them the Python tests.
set -euo pipefail
# shellcheck source=scripts/steps.sh
. "$(dirname "$0")/steps.sh"

log=build/sanitize_python.log
mkdir -p build
# shellcheck disable=SC2317
python_tests() { scripts/sanitize_python.sh >"$log" 2>&1; }
step "running the Python tests under the address sanitizer, meanwhile"
begin_beside python_tests

for preset in asan tsan; do
    step "building the C++ tests (preset $preset)"
    scripts/build.sh tests "$preset"
    step "running the C++ tests (preset $preset)"
    # The thread sanitizer of older compilers cannot map its memory where addresses are spread
    # widely; a fixed layout (-R) is what works on every kernel.
    said=build/$preset/ctest.log
    setarch -R ctest --preset "$preset" -j "$(nproc)" >"$said" 2>&1 || {
        grep -vE '^ *Start +[0-9]+:|^ *[0-9]+/[0-9]+ Test .* Passed ' "$said" >&2
        die "failed in the preset $preset"
    }
done

step "waiting for the Python tests"
status=0
end_beside || status=$?
cat "$log"
exit "$status"
