#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes .venv ready for the given groups of work: build, test, lint, bench, profile, interpreters;
# and cmake, which is added where the system has none that will do.
#
# Finds what the system lacks, installs just that with apt-get (as root, or through sudo if that
# asks no password), else names the exact command. Everything else comes pinned from PyPI.
# PYTHON chooses the interpreter. Without it: the one that .venv has, else python3 on PATH, else
# /usr/bin/python3, the first that will do.
set -euo pipefail
# PATH as the caller has it: an activated .venv must not be the base of its own replacement.
outer_path=$PATH
# shellcheck source=scripts/steps.sh
. "$(dirname "$0")/steps.sh"

groups=("$@")
[ ${#groups[@]} -gt 0 ] || groups=(build)

has_group() { [[ " ${groups[*]} " == *" $1 "* ]]; }

# Prints what an interpreter lacks, one word each: python3 (none, or older than 3.11),
# python3-venv, python3-dev. The words are the names of Debian's packages.
python_lacks() {
    "$1" - 2>/dev/null <<'PY' || echo python3
import importlib.util, os, sys, sysconfig
if sys.version_info < (3, 11):
    sys.exit(1)
if not all(map(importlib.util.find_spec, ("venv", "ensurepip"))):
    print("python3-venv")
if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
    print("python3-dev")
PY
}

# Sets python. One that the user names is taken or refused, never replaced.
choose_python() {
    if [ -n "${PYTHON:-}" ]; then
        python=$PYTHON
        local lacks
        lacks=$(python_lacks "$python" | tr '\n' ' ')
        [ -z "$lacks" ] ||
            die "PYTHON=$python will not do: Python 3.11 or later with venv, ensurepip and" \
                "Python.h is needed (lacking, in Debian's words: ${lacks% })"
        return
    fi
    for python in "$root/$venv/bin/python" "$(PATH=$outer_path command -v python3)"; do
        [ -z "$(python_lacks "$python")" ] && return
    done
    # Whatever this one lacks, Debian has it.
    python=/usr/bin/python3
}

has_header() {
    printf '#include <%s>\n' "$1" | "${CXX:-g++}" -std=c++20 -E -x c++ - >/dev/null 2>&1
}

# A compiler that the user names is trusted; CMake says what is wrong with it.
has_compiler() {
    [ -n "${CXX:-}" ] && return
    local version
    version=$(g++ -dumpversion 2>/dev/null) && [ "${version%%.*}" -ge 12 ]
}

# Sets missing to the Debian packages that would bring what is not there.
find_missing() {
    choose_python
    mapfile -t missing < <(python_lacks "$python")
    # Without an interpreter nothing is known of the rest.
    [ "${missing[*]}" != python3 ] || missing=(python3 python3-venv python3-dev)
    has_compiler || missing+=(g++)
    if has_group test; then
        has_header gtest/gtest.h || missing+=(libgtest-dev)
        command -v pkg-config >/dev/null || missing+=(pkg-config)
    fi
    if has_group interpreters; then  # to unpack a Python's source, and what it has modules for
        command -v xz >/dev/null || missing+=(xz-utils)
        has_header ffi.h || missing+=(libffi-dev)
        has_header zlib.h || missing+=(zlib1g-dev)
    fi
    if has_group profile; then
        command -v valgrind >/dev/null || missing+=(valgrind)
    fi
}

install_missing() {
    local sudo=()
    if [ "$(id -u)" -ne 0 ]; then
        sudo=(sudo -n)
    fi
    if ! command -v apt-get >/dev/null || ! "${sudo[@]}" true 2>/dev/null; then
        {
            echo "error: the system lacks: ${missing[*]}"
            echo "As root, run:"
            echo "    apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
            echo "(names of Debian's packages) and then make again."
        } >&2
        exit 1
    fi
    local apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive
        apt-get -qq -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120)
    step "updating the package lists"
    # A third party's repository that is down need not matter: the install decides.
    "${apt[@]}" update </dev/null || true
    step "installing system packages: ${missing[*]}"
    local log
    log=$(mktemp)
    if ! "${apt[@]}" install -y --no-install-recommends "${missing[@]}" \
        </dev/null >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        die "apt-get could not install: ${missing[*]}"
    fi
    rm -f "$log"
}

# Makes .venv anew if it is not there, was made elsewhere (its scripts hold its path), or from
# another interpreter. The extension's build tree remembers the interpreter too, so it goes as well.
make_venv() {
    local base key version
    base=$("$python" -c 'import os, sys; print(os.path.realpath(sys._base_executable))')
    version=$("$base" -c 'import platform; print(platform.python_version())')
    key="$root $base $version"
    if stamp_is venv "$key" && "$venv/bin/python" -c '' 2>/dev/null; then
        return
    fi
    step "creating .venv with Python $version ($base)"
    rm -rf "$venv" build/cp*
    "$base" -m venv "$venv"
    stamp venv "$key"
}

# Installs one file of pinned requirements, unless it is in .venv as it stands.
install_requirements() {
    local file=requirements/$1.txt key
    [ -f "$file" ] || return 0  # the group needs system packages only
    key=$(hash_of "$file")
    stamp_is "$1" "$key" && return
    step "installing $file into .venv"
    "$venv/bin/python" -m pip install --quiet --no-input --no-deps -r "$file"
    stamp "$1" "$key"
}

# What tests try in a second version has a folder of its own; they put it on the path.
install_newest() {
    local file=requirements/newest.txt key
    key=$(hash_of "$file")
    stamp_is newest "$key" && return
    step "installing $file into .venv/newest"
    rm -rf "$venv/newest"
    "$venv/bin/python" -m pip install --quiet --no-input --no-deps --only-binary :all: \
        --target "$venv/newest" -r "$file" 2>/dev/null ||
        echo "setup: no wheels of $file for this Python; the tests that need them are skipped" >&2
    stamp newest "$key"
}

cmake_and_ninja_will_do() {
    local version
    version=$(cmake --version 2>/dev/null | sed -n '1s/.* //p')
    [ -n "$version" ] && command -v ninja >/dev/null &&
        [ "$(printf '3.25\n%s\n' "$version" | sort -V | head -n 1)" = 3.25 ]
}

find_missing
if [ ${#missing[@]} -gt 0 ]; then
    install_missing
    find_missing
    [ ${#missing[@]} -eq 0 ] ||
        die "still not good enough after the install: ${missing[*]}" \
            "(needed: Python 3.11, g++ 12, or later ones)"
fi
make_venv
cmake_and_ninja_will_do || groups+=(cmake)
for group in "${groups[@]}"; do
    install_requirements "$group"
    [ "$group" != test ] || install_newest
done
step "set up for ${groups[*]}: $("$venv/bin/python" -V), $(cmake --version | head -n 1)"
