#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the Python tests with the extension and the embedded driver under the address sanitizer.
#
# The interpreter itself is not instrumented, so the sanitizer's library has to be there before it,
# and libstdc++ too, or exceptions are not intercepted; Python's own allocator would hide faults,
# and what Python never frees are no leaks of ours. Left out are functions that never end:
# CPython up to 3.13.7 ends their threads by forced unwinding, which this sanitizer misreports;
# measurements of the process's memory, since freed memory is kept for a while; and forks, since the
# sanitizer's allocator is not ready for them: a program of two threads that allocate, without a
# line of ours, hung in 3 of its first 185 children (g++ 12), and never in 3,000 without the
# sanitizer.
set -euo pipefail
# shellcheck source=scripts/steps.sh
. "$(dirname "$0")/steps.sh"

build=$root/build/asan-python
step "building the extension for the address sanitizer"
PYTHON=$venv/bin/python scripts/build_extension.sh "$build" -DHOSTLAUNCH_SANITIZE=address

export PYTHONPATH=$build/site PYTHONMALLOC=malloc PYTHONDONTWRITEBYTECODE=1
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0
preload="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libstdc++.so)"

# run NAME TESTS...: output goes to NAME.log, so that two can run at the same time.
run() {
    local log=$build/$1.log
    shift
    LD_PRELOAD=$preload "$venv/bin/python" -m pytest -q -p no:cacheprovider \
        -m 'not forced_unwinding and not forks and not resident_memory' "$@" >"$log" 2>&1
}

step "running the Python tests under the address sanitizer"
failed=
run shutdown tests/shutdown &
run python tests/python || failed="python"
wait $! || failed="$failed shutdown"
for name in python shutdown; do
    [[ " $failed " != *" $name "* ]] || cat "$build/$name.log"
    tail -1 "$build/$name.log"
done
[ -z "$failed" ] || die "failed under the address sanitizer: $failed"
