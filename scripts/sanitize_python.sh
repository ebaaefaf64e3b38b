#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the Python tests with the extension and the embedded driver under a sanitizer:
# sanitize_python.sh [address | thread].
#
# address (what the gate runs): the interpreter itself is not instrumented, so the sanitizer's
# library has to be there before it, and libstdc++ too, or exceptions are not intercepted; Python's
# own allocator would hide faults, and what Python never frees are no leaks of ours. What is left
# out, and why: docs/testing.md.
#
# thread: sees races within our code only. It needs a Python with a GIL, whose mutex it knows, and a
# g++ as old as 12 a fixed layout of memory (setarch -R). A report fails the run.
#
# PYTHON: the interpreter, with nanobind and pytest (default: the one in .venv).
set -euo pipefail
# shellcheck source=scripts/steps.sh
. "$(dirname "$0")/steps.sh"

sanitizer=${1:-address}
python=${PYTHON:-$venv/bin/python}
build=$root/build/$sanitizer-python
reports=$build/reports
step "building the extension for the $sanitizer sanitizer"
PYTHON=$python scripts/build.sh extension "$build" -DHOSTLAUNCH_SANITIZE="$sanitizer"
rm -rf "$reports"
mkdir -p "$reports"

export PYTHONPATH=$build/site${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1
started=()
case $sanitizer in
    address)
        export PYTHONMALLOC=malloc
        export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0
        preload="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libstdc++.so)"
        ;;
    thread)
        options=(atexit_sleep_ms=0 report_signal_unsafe=0 "log_path=$reports/race"
            "suppressions=$root/scripts/thread_sanitizer.supp")
        TSAN_OPTIONS=$(IFS=: && echo "${options[*]}")
        export TSAN_OPTIONS
        preload=$(g++ -print-file-name=libtsan.so)
        started=(setarch -R)
        ;;
    *) die "there is no sanitizer '$sanitizer': address or thread" ;;
esac

# run NAME TESTS...: output goes to NAME.log, so that two can run at the same time.
run() {
    local log=$build/$1.log
    shift
    LD_PRELOAD=$preload "${started[@]}" "$python" -m pytest -q -p no:cacheprovider \
        -m 'not forced_unwinding and not forks and not resident_memory' "$@" >"$log" 2>&1
}

step "running the Python tests under the $sanitizer sanitizer"
failed=
run shutdown tests/shutdown &
run python tests/python || failed="python"
wait $! || failed="$failed shutdown"
for name in python shutdown; do
    [[ " $failed " != *" $name "* ]] || cat "$build/$name.log"
    tail -1 "$build/$name.log"
done
if [ -n "$(ls -A "$reports")" ]; then
    head -n 60 "$reports"/*
    failed="$failed reports"
fi
[ -z "$failed" ] || die "failed under the $sanitizer sanitizer: $failed"
