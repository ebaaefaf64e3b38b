#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Configures and builds the C++ benchmarks in a folder: build_benchmarks.sh BUILD [OPTION...].
#
# OPTIONs go to CMake; downloads nothing. Quiet when all is well; shows the end of BUILD.log when
# not.
set -euo pipefail
cd "$(dirname "$0")/.."

build=$1
shift
mkdir -p "$(dirname "$build")"
{
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHOSTLAUNCH_BUILD_BENCHMARKS=ON \
        "$@" && cmake --build "$build"
} >"$build.log" 2>&1 || {
    tail -40 "$build.log" >&2
    echo "the build of the benchmarks in $build failed" >&2
    exit 1
}
