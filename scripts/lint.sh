#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks form and types of every source; with --fix, rewrites what clang-format and ruff can.
set -euo pipefail
# shellcheck source=scripts/steps.sh
. "$(dirname "$0")/steps.sh"

mapfile -t cxx < <(find bench examples include python src tests \
    \( -name '*.[ch]' -o -name '*.[ch]pp' \) 2>/dev/null | LC_ALL=C sort)

if [ "${1:-}" = --fix ]; then
    step "clang-format and ruff, rewriting"
    clang-format -i "${cxx[@]}"
    ruff check --quiet --fix --exit-zero .
    ruff format --quiet .
    exit
fi

step "clang-format: ${#cxx[@]} files"
clang-format --dry-run -Werror "${cxx[@]}"
step "ruff"
ruff check --quiet .
ruff format --quiet --check .
step "mypy"
mypy

# clang-tidy takes minutes for what the others take seconds, so it is skipped if nothing changed.
key=$(hash_of .clang-tidy CMakeLists.txt CMakePresets.json include requirements/lint.txt \
    scripts/lint.sh src)
if stamp_is clang-tidy "$key"; then
    step "clang-tidy: nothing changed since it was last clean"
    exit
fi
step "clang-tidy"
cmake --preset dev --log-level=ERROR >/dev/null
# GCC's own options mean nothing to clang.
find src -name '*.cpp' -print0 | LC_ALL=C sort -z |
    xargs -0r -n 1 -P "$(nproc)" clang-tidy --quiet -p build/dev \
        --extra-arg=-Wno-unknown-warning-option
stamp clang-tidy "$key"
