#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds one thing, quietly; shows the end of its log if that fails. Downloads nothing.
#
#   build.sh [package]                     the package, into .venv, if a source of it has changed
#   build.sh tests PRESET                  the C++ tests of a CMake preset, in build/PRESET
#   build.sh extension FOLDER [OPTION...]  the package as a folder for PYTHONPATH, FOLDER/site
#   build.sh benchmarks FOLDER [OPTION...] the C++ benchmarks, in FOLDER
#
# OPTIONs go to CMake. PYTHON is the interpreter of an extension (default python3), which has
# nanobind. SOURCES is another checkout to build an extension or benchmarks of.
set -euo pipefail
outer_path=$PATH
# shellcheck source=scripts/steps.sh
. "$(dirname "$0")/steps.sh"

sources=${SOURCES:-$root}

# quietly LOG COMMAND...
quietly() {
    local log=$1
    shift
    mkdir -p "$(dirname "$log")"
    "$@" >"$log" 2>&1 || {
        tail -n 200 "$log" >&2
        die "failed: $*; all it said is in $log"
    }
}

# release FOLDER OPTION...: configures and builds what users get.
release() {
    local folder=$1
    shift
    quietly "$folder.log" cmake -S "$sources" -B "$folder" -G Ninja \
        -DCMAKE_BUILD_TYPE=Release "$@"
    quietly "$folder.log" cmake --build "$folder"
}

build_package() {
    local key
    key="$(cat "$venv/stamps/venv") $(hash_of CMakeLists.txt LICENSE README.md cmake include \
        pyproject.toml python requirements/build.txt src)"
    if stamp_is package "$key"; then
        step "hostlaunch in .venv is up to date"
        return
    fi
    step "building hostlaunch and installing it into .venv"
    # No isolation: the pinned build requirements are in .venv, and the build tree can be reused.
    "$venv/bin/python" -m pip install --quiet --no-input --no-index --no-deps \
        --no-build-isolation --force-reinstall .
    "$venv/bin/python" -W ignore -c 'import hostlaunch'
    stamp package "$key"
}

build_tests() {
    local preset=$1 cache=build/$1/CMakeCache.txt options=()
    # A build tree that was made elsewhere and moved here with the sources is of no use.
    if [ -f "$cache" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache"; then
        options+=(--fresh)
    fi
    quietly "build/$preset.log" cmake --preset "$preset" "${options[@]}"
    quietly "build/$preset.log" cmake --build --preset "$preset"
}

build_extension() {
    local folder=$1 python
    shift
    # The caller's PATH finds it: a .venv that lies here plays no part.
    python=$(PATH=$outer_path "${PYTHON:-python3}" -c 'import sys; print(sys.executable)')
    release "$folder" -DHOSTLAUNCH_BUILD_PYTHON=ON -DPython_EXECUTABLE="$python" "$@"
    quietly "$folder.log" cmake --install "$folder" --prefix "$folder/site" --component python
    cp -r "$sources/python/hostlaunch/." "$folder/site/hostlaunch/"
}

build_benchmarks() {
    local folder=$1
    shift
    release "$folder" -DHOSTLAUNCH_BUILD_BENCHMARKS=ON "$@"
}

mode=${1:-package}
[ $# -eq 0 ] || shift
case $mode in
    package | tests | extension | benchmarks) "build_$mode" "$@" ;;
    *) die "nothing is called '$mode': package, tests, extension or benchmarks" ;;
esac
