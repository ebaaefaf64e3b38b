#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the Python tests on several interpreters: test_matrix.sh [ci | VERSION...].
#
# A VERSION is 3.11, 3.15, 3.13t (t: free-threaded) and the like; without any, all of them; `ci` is
# the oldest, the newest and a free-threaded one, with the tests that depend most on the
# interpreter. Where they come from: interpreters.sh. One that cannot be had is named and skipped,
# which is a failure only if it was asked for. Ends with a line for each interpreter, and fails if
# any test failed.
#
# MATRIX_JOBS: how many run their tests at the same time (as many as there are processors).
set -euo pipefail
outer_path=$PATH
# shellcheck source=scripts/steps.sh
. "$(dirname "$0")/steps.sh"
# shellcheck source=scripts/interpreters.sh
. scripts/interpreters.sh

everything=(3.11 3.12 3.13 3.14 3.15 3.13t 3.14t 3.15t)
gate=(3.11 3.15 3.13t)
work=$root/build/matrix
tests=(tests/python tests/shutdown)
jobs=${MATRIX_JOBS:-$(nproc)}

asked=1
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    asked=
    names=("${everything[@]}")
elif [ "${names[*]}" = ci ]; then
    names=("${gate[@]}")
    # Left out is what takes long and holds whatever the interpreter.
    tests+=(--ignore-glob='*_gpu.py' --ignore-glob='*/test_two_devices*')
    for file in context_failure driver_choice graph_failures order_model user_data_model; do
        tests+=(--ignore="tests/python/test_$file.py")
    done
fi

# pins PATTERN: the lines of requirements that match, without conditions.
pins() { sed 's/ *[;#].*//' requirements/build.txt requirements/test.txt | grep -E "^($1)=="; }

# pip_to FOLDER ARGUMENT...: unpacks pinned packages there, for PYTHONPATH.
pip_to() {
    local folder=$1
    shift
    "$venv/bin/python" -m pip install --quiet --no-input --no-deps --upgrade --target "$folder" "$@"
}

# What all interpreters share: packages of Python alone.
install_shared() {
    local key
    key=$(hash_of requirements)
    [ -d "$work/packages" ] && stamp_is matrix "$key" && return
    step "installing what runs the tests"
    rm -rf "$work/packages"
    local shared
    mapfile -t shared < <(pins \
        'nanobind|iniconfig|packaging|pluggy|Pygments|pycparser|pytest|pytest-timeout|zope.event')
    pip_to "$work/packages" "${shared[@]}"
    stamp matrix "$key"
}

# Packages with compiled parts: the first pin that has a wheel for this version, or none; tests that
# need one that is missing skip themselves.
install_compiled() {
    local name=$1 folder=$2 package pin
    # pip asks the first ABI whether it is free-threaded, and adds abi3 if it is not.
    local abis=(--abi "cp${name/./}" --abi none)
    for package in hypothesis numpy cffi greenlet gevent zope.interface; do
        for pin in $(pins "$package") none; do
            if [ "$pin" = none ]; then
                echo "    $name: no wheel of $package, so tests that need it are skipped"
            elif pip_to "$folder" --only-binary :all: --python-version "${name%t}" "${abis[@]}" \
                "$pin" 2>/dev/null; then
                [ "$package" != hypothesis ] || pip_to "$folder" "$(pins sortedcontainers)"
                break
            fi
        done
    done
}

# Builds the extension for an interpreter, in a build tree that all share: what does not include
# Python.h is compiled once. -O1 takes half the time of -O3, and the code is the same.
build_for() {
    local name=$1 interpreter=$2 folder=$work/$1 key
    key="$("$interpreter" -VV) $interpreter $(hash_of CMakeLists.txt cmake include python \
        requirements src scripts/build.sh scripts/test_matrix.sh)"
    [ -d "$folder/site" ] && stamp_is "matrix-$name" "$key" && return
    step "building the extension for Python $name"
    rm -rf "$folder/packages" "$folder/site"
    mkdir -p "$folder"
    install_compiled "$name" "$folder/packages"
    PYTHON=$interpreter PYTHONPATH=$work/packages scripts/build.sh extension "$work/tree" --fresh \
        -DCMAKE_CXX_FLAGS_RELEASE=-O1 && mv "$work/tree/site" "$folder/site" &&
        stamp "matrix-$name" "$key"
}

run_tests() {
    local name=$1 interpreter=$2 folder=$work/$1 status=0
    rm -f "$folder/results.xml"
    # No cache is shared: 3.13 and 3.13t give their files the same names.
    PYTHONPATH=$folder/site:$folder/packages:$work/packages PYTHONPYCACHEPREFIX=$folder/pycache \
        HYPOTHESIS_STORAGE_DIRECTORY=$folder/hypothesis PATH=$outer_path \
        timeout --kill-after=10 1800 "$interpreter" -m pytest -q -p no:cacheprovider \
        --junit-xml="$folder/results.xml" "${tests[@]}" >"$folder/log" 2>&1 || status=$?
    echo "$status" >"$folder/status"
}

# The end of the script: a line for each interpreter, after what pytest said where it failed.
report() {
    local name folder version counts summary=()
    for name in "${names[@]}"; do
        folder=$work/$name
        if [ -n "${skipped[$name]:-}" ]; then
            summary+=("Python $name: skipped: ${skipped[$name]}")
            continue
        elif [ -z "${interpreters[$name]:-}" ]; then
            summary+=("Python $name: FAILED: ${origins[$name]}")
            continue
        fi
        version=$("${interpreters[$name]}" -c 'import platform; print(platform.python_version())')
        counts=$("$venv/bin/python" scripts/count_tests.py "$folder/results.xml" \
            "$(cat "$folder/status")") || {
            status=1
            step "what pytest said on Python $name"
            cat "$folder/log"
        }
        summary+=("Python $name ($version, ${origins[$name]}): ${counts##*$'\n'}")
    done
    printf '%s\n' "${summary[@]}"
}

declare -A interpreters origins skipped
status=0

# Tests run in the background while the next interpreter is got and built for.
main() {
    scripts/setup.sh build test interpreters
    mkdir -p "$work"
    install_shared
    local name interpreter origin
    for name in "${names[@]}"; do
        if ! find_interpreter "$name"; then
            skipped[$name]=$origin
            [ -z "$asked" ] || status=1
            continue
        fi
        origins[$name]=$origin
        if ! build_for "$name" "$interpreter"; then
            origins[$name]="$origin; the extension could not be built"
            status=1
            continue
        fi
        interpreters[$name]=$interpreter
        while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || true; done
        step "running the tests on Python $name (${origins[$name]})"
        run_tests "$name" "$interpreter" &
    done
    wait
    report
    exit "$status"
}
main
