#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Configures and builds a CMake preset. Quiet when all is well; shows everything when not.
set -euo pipefail
# shellcheck source=scripts/steps.sh
. "$(dirname "$0")/steps.sh"

preset=$1
cache=build/$preset/CMakeCache.txt
options=()
# A build tree that was made elsewhere and moved here with the sources is of no use.
if [ -f "$cache" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache"; then
    options+=(--fresh)
fi
log=build/$preset.log
mkdir -p build
if ! {
    cmake --preset "$preset" "${options[@]}" && cmake --build --preset "$preset"
} >"$log" 2>&1; then
    cat "$log" >&2
    die "the build of preset $preset failed"
fi
