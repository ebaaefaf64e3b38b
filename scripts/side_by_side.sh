#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures two commits side by side on one machine: side_by_side.sh BASE_FOLDER.
#
# BASE_FOLDER is a checkout of the other commit. Both are built here, with what this machine has
# (no downloads), then take turns, a process at a time, lap by lap, until LIMIT_S seconds (default
# 450) have gone by since the start. Python's figures come from this checkout's programs for both
# sides, those of C++ from each side's own. Ends with a table; fails if a row got worse.
#
# HOSTLAUNCH_DRIVER (default cuda), PYTHON (default python3), OUT (default build/side) as usual;
# LAPS bounds their number. OPTIONS (space separated) go to CMake on both sides.
set -uo pipefail
outer_path=$PATH
# shellcheck source=scripts/steps.sh
. "$(dirname "$0")/steps.sh"
PATH=$outer_path  # a .venv that lies here plays no part

[ $# -eq 1 ] || die "usage: $0 BASE_FOLDER"
base=$(cd "$1" && pwd) || die "no folder $1"
out=${OUT:-build/side}
python=${PYTHON:-python3}
limit=${LIMIT_S:-450}
laps=${LAPS:-20}
read -ra options <<<"${OPTIONS:-}"
export HOSTLAUNCH_DRIVER=${HOSTLAUNCH_DRIVER:-cuda} PYTHONDONTWRITEBYTECODE=1
mkdir -p "$out"
rm -f "$out"/*.json "$out"/*.txt

# build SIDE SOURCES
build() {
    SOURCES=$2 scripts/build.sh benchmarks "$out/$1-bench" "${options[@]}" &&
        SOURCES=$2 scripts/build.sh extension "$out/$1-python" "${options[@]}"
}

# lap SIDE NUMBER: one process of each program.
lap() {
    timeout --kill-after=10 60 "$out/$1-bench/bench/hostlaunch_bench" --quick --rounds 12 \
        --json "$out/$1-$2-cpp.json" >"$out/$1-$2-cpp.txt" 2>&1 || failed=1
    PYTHONPATH=$out/$1-python/site timeout --kill-after=10 120 "$python" bench/python_launch.py \
        --rounds 12 --rows --json "$out/$1-$2-python.json" >"$out/$1-$2-python.txt" 2>&1 || failed=1
}

step "building both sides"
build base "$base" &
build new "$root" || failed=1
wait $! || failed=1
[ "$failed" -eq 0 ] || die "a side could not be built"

done_laps=0 longest=0
# One lap at least, whatever the builds took.
while [ "$done_laps" -lt "$laps" ] &&
    { [ "$done_laps" -eq 0 ] || [ $((SECONDS + longest)) -lt "$limit" ]; }; do
    began=$SECONDS
    done_laps=$((done_laps + 1))
    # Whoever is first in one lap is second in the next.
    order=(base new)
    [ $((done_laps % 2)) -eq 1 ] || order=(new base)
    for side in "${order[@]}"; do lap "$side" "$done_laps"; done
    [ $((SECONDS - began)) -le "$longest" ] || longest=$((SECONDS - began))
    step "lap $done_laps took $((SECONDS - began)) s"
done
[ "$failed" -eq 0 ] || tail -n 3 "$out"/*.txt >&2
"$python" bench/side_by_side.py "$out" || failed=1
exit "$failed"
