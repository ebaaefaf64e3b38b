#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What compilers say of a mistake, in the first lines: check_words.sh SOURCES COMPILER...
# A compiler that is not there is left out.
set -euo pipefail

include=$1/include
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# says WORDS COMPILER STANDARD STATEMENT: the statement is an error, and its first six lines say so.
says() {
    local words=$1 compiler=$2 standard=$3 source=$work/source.cpp
    {
        echo '#include <hostlaunch/hostlaunch.hpp>'
        echo 'void f(hostlaunch::stream& s, hostlaunch::graph_builder& b, int* p) {'
        echo "    $4"
        echo '    (void)s, (void)b, (void)p;'
        echo '}'
    } >"$source"
    if "$compiler" "-std=$standard" -fsyntax-only -I "$include" "$source" 2>"$work/said"; then
        echo "$compiler takes: $4" >&2
        exit 1
    fi
    if ! head -n 6 "$work/said" | grep -q -- "$words"; then
        echo "$compiler does not say at once '$words' of: $4" >&2
        cat "$work/said" >&2
        exit 1
    fi
}

for compiler; do
    if ! command -v "$compiler" >/dev/null; then
        echo "$compiler: left out, it is not there"
        continue
    fi
    reason='cannot_be_copied_or_called_with_copies_of_these_arguments'
    says "$reason" "$compiler" c++20 'hostlaunch::host_launch(s, [](int) {});'
    says "$reason" "$compiler" c++20 'hostlaunch::host_launch(s, [](int&) {}, 1);'
    says "$reason" "$compiler" c++20 'hostlaunch::host_launch(s, 1);'
    says "$reason" "$compiler" c++20 'hostlaunch::host_launch(s, p, p);'
    says "$reason" "$compiler" c++20 'void (*g)(void*) = nullptr; hostlaunch::host_launch(s, g);'
    says "$reason" "$compiler" c++20 'hostlaunch::host_launch(b, [](int) {});'
    says "$reason" "$compiler" c++20 'hostlaunch::host_launch(b, [](int&&) {}, 1);'
    only_moved='auto g = [m = std::unique_ptr<int>()] { (void)m; };'
    says "$reason" "$compiler" c++20 "$only_moved hostlaunch::host_launch(s, g);"
    says "$reason" "$compiler" c++20 "$only_moved hostlaunch::host_launch(b, g);"
    says "$reason" "$compiler" c++20 'b.callback([](int) {});'
    says "$reason" "$compiler" c++20 \
        'hostlaunch::graph g = b.complete(); g.update_callback({}, [](int) {});'
    says 'hostlaunch needs C++20: compile with -std=c++20' "$compiler" c++17 ''
    # And nothing else but where that is.
    if [ "$(grep -c 'error: ' "$work/said")" -gt 2 ]; then
        echo "$compiler says too much of C++17:" >&2
        cat "$work/said" >&2
        exit 1
    fi
    echo "$compiler: says the reason first"
done
