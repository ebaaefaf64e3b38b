#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Python package as a folder to put on PYTHONPATH: build_extension.sh BUILD [OPTION...].
#
# Built in BUILD, installed into BUILD/site, for PYTHON (default python3), with the nanobind that it
# finds; downloads nothing. OPTIONs go to CMake. Quiet when all is well; shows the end of BUILD.log
# when not.
set -euo pipefail
cd "$(dirname "$0")/.."

build=$1
shift
python=${PYTHON:-python3}
mkdir -p "$(dirname "$build")"
{
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHOSTLAUNCH_BUILD_PYTHON=ON \
        -DPython_EXECUTABLE="$("$python" -c 'import sys; print(sys.executable)')" "$@" &&
        cmake --build "$build" &&
        cmake --install "$build" --prefix "$build/site" --component python &&
        cp -r python/hostlaunch/. "$build/site/hostlaunch/"
} >"$build.log" 2>&1 || {
    tail -40 "$build.log" >&2
    echo "the build of the extension in $build failed" >&2
    exit 1
}
