#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds, installs and uses the library as a user's project does, in each documented way:
# check_package.sh SOURCES WORK_FOLDER. One build tree serves all ways. Ends at the first failure.
set -euo pipefail

sources=$1
work=$2
here=$(cd "$(dirname "$0")" && pwd)
jobs=$(nproc)
export HOSTLAUNCH_DRIVER=embedded CXXFLAGS='-O0 -g0' PKG_CONFIG_PATH=
unset LD_LIBRARY_PATH CPATH CPLUS_INCLUDE_PATH CMAKE_PREFIX_PATH
if command -v ninja >/dev/null; then
    export CMAKE_GENERATOR=Ninja
fi
rm -rf "$work"
mkdir -p "$work"
log=$work/log

# quietly COMMAND...: shows what it wrote only if it fails.
quietly() {
    if ! "$@" >"$log" 2>&1; then
        printf 'failed: %s\n' "$*" >&2
        cat "$log" >&2
        exit 1
    fi
}

# uses NAME PROGRAM: runs a consumer.
uses() {
    printf '%s: ' "$1"
    timeout 60 "$2"
}

# build SOURCE_FOLDER NAME OPTION...: configures and builds without Python.
build() {
    local from=$1 to=$work/$2
    shift 2
    quietly cmake -S "$from" -B "$to" -DCMAKE_BUILD_TYPE=Debug \
        -DCMAKE_DISABLE_FIND_PACKAGE_Python=ON -DCMAKE_DISABLE_FIND_PACKAGE_Python3=ON "$@"
    quietly cmake --build "$to" --parallel "$jobs"
}

# use_sanitized KIND OPTION...: the consumer with a sanitizer, whose runtime stands between the
# program and the system's loader.
use_sanitized() {
    local kind=$1 sanitizer program
    shift
    for sanitizer in address thread; do
        program=$work/$sanitizer-$kind
        if ! echo 'int main() {}' |
            "${CXX:-c++}" "-fsanitize=$sanitizer" -x c++ -o "$program" - 2>"$log"; then
            echo "$sanitizer sanitizer, $kind: left out, the compiler has none"
            continue
        fi
        quietly "${CXX:-c++}" -std=c++20 "-fsanitize=$sanitizer" -o "$program" \
            "$here/consumer/main.cpp" "$@"
        uses "$sanitizer sanitizer, $kind" "$program"
    done
}

# finds_nothing_planted PREFIX PROGRAM: without its embedded driver the program fails, and takes no
# other one that lies in the current folder.
finds_nothing_planted() {
    local embedded planted=$work/planted
    embedded=$(find "$1" -name libhostlaunch_embedded.so)
    mkdir -p "$planted"
    mv "$embedded" "$planted/"
    (
        cd "$planted"
        exec 3>&2 2>/dev/null  # the shell need not tell that it aborts
        if PATH=${2%/*}:$PATH LD_LIBRARY_PATH=. timeout 60 "${2##*/}" >"$log" 2>&1 ||
            ! grep -q "there is no libhostlaunch_embedded.so at .*${embedded%/*}" "$log"; then
            printf 'it should have told where it looks for its driver:\n' >&3
            cat "$log" >&3
            exit 1
        fi
    )
    mv "$planted/${embedded##*/}" "$embedded"
}

# use_installed PREFIX KIND [PKG_CONFIG_OPTION]: consumers through find_package and pkg-config.
use_installed() {
    local prefix=$1 kind=$2 pc
    build "$here/consumer" "consumer-$kind" -DCMAKE_PREFIX_PATH="$prefix"
    uses "find_package, $kind" "$work/consumer-$kind/consumer"

    pc=$(find "$prefix" -name hostlaunch.pc)
    export PKG_CONFIG_PATH=${pc%/*}
    # shellcheck disable=SC2046,SC2086
    quietly "${CXX:-c++}" -std=c++20 -Wall -Wextra -Werror -o "$work/pkg-config-$kind" \
        "$here/consumer/main.cpp" $(pkg-config --cflags --libs ${3:-} hostlaunch)
    uses "pkg-config, $kind" "$work/pkg-config-$kind"
    # shellcheck disable=SC2046,SC2086
    use_sanitized "$kind" $(pkg-config --cflags --libs ${3:-} hostlaunch)
    finds_nothing_planted "$prefix" "$work/pkg-config-$kind"
}

# use_documented PREFIX: the project that docs/cpp.md shows, word for word.
use_documented() {
    local page=$sources/docs/cpp.md project=$work/documented
    mkdir -p "$project"
    sed -n '/^```cmake$/,/^```$/{/^```/d;p}' "$page" >"$project/CMakeLists.txt"
    sed -n '/^```cpp$/,/^```$/{/^```/d;p;/^}$/q}' "$page" >"$project/demo.cpp"
    build "$project" consumer-documented -DCMAKE_PREFIX_PATH="$1"
    uses documented "$work/consumer-documented/demo"
}

# No header of CUDA or Python is part of what a user compiles.
needs_no_foreign_header() {
    local found
    found=$("${CXX:-c++}" -std=c++20 -M -I "$1/include" "$here/consumer/main.cpp" |
        grep -E '/(cuda[a-zA-Z_]*|driver_types|Python)\.h' || true)
    if [ -n "$found" ]; then
        printf 'a public header includes %s\n' "$found" >&2
        exit 1
    fi
}

# use_all_ways KIND ON_OR_OFF [PKG_CONFIG_OPTION]: the library of one kind, static or shared.
use_all_ways() {
    build "$here/subdirectory" subdirectory -DHOSTLAUNCH_SOURCES="$sources" -DBUILD_SHARED_LIBS="$2"
    uses "add_subdirectory, $1" "$work/subdirectory/consumer"
    quietly cmake --install "$work/subdirectory/hostlaunch" --prefix "$work/$1" --component cpp
    use_installed "$work/$1" "$1" ${3+"$3"}
}

# The second one is built in the tree of the first, so that most is compiled once.
use_all_ways static OFF --static
use_all_ways shared ON
needs_no_foreign_header "$work/static"
use_documented "$work/static"
echo 'all ways work'
