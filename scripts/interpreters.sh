# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
# Finds a Python of a given version, or gets one from Debian's archive. Sourced, after steps.sh.
#
# find_interpreter NAME, where NAME is 3.11, 3.15, 3.13t (t: free-threaded) and the like, sets
# interpreter to its path and origin to words that say where it is from; false with the reason in
# origin if there is none. In this order: on PATH, in ~/.pyenv, kept from an earlier call, from
# Debian: unpacked into a folder, since nothing of this system may be replaced, and started through
# the dynamic loader that is unpacked with it; a free-threaded one is built from Debian's source,
# as Debian has no package of it. What was unpacked or built is kept in
# ${XDG_CACHE_HOME:-~/.cache}/hostlaunch/python; remove a folder there to have it made anew.
# DEBIAN_MIRROR: where Debian comes from (the first one that this machine's apt uses).

kept_interpreters=${XDG_CACHE_HOME:-$HOME/.cache}/hostlaunch/python
archive_keyring=/usr/share/keyrings/debian-archive-keyring.gpg
archive_state=

# is_interpreter PATH NAME: it runs, is of that version and kind, and has headers.
is_interpreter() {
    [ -x "$1" ] && [ "$("$1" -I - <<'PY' 2>/dev/null
import os, sys, sysconfig
free_threaded = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
if os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
    print("{}.{}{}".format(*sys.version_info[:2], free_threaded))
PY
    )" = "$2" ]
}

# What this machine has of a version: PATH as the caller had it, then pyenv's, newest first.
list_installed() {
    PATH=${outer_path:-$PATH} type -ap "python$1" || true
    find "$HOME/.pyenv/versions" -maxdepth 1 -name "${1%t}.*" 2>/dev/null | sort -rV |
        sed "s|\$|/bin/python$1|"
}

find_installed() {
    while IFS= read -r interpreter; do
        if is_interpreter "$interpreter" "$1"; then
            # What a shim of pyenv stands for.
            interpreter=$("$interpreter" -I -c 'import sys; print(sys.executable)')
            origin=$interpreter
            return
        fi
    done < <(list_installed "$1")
    return 1
}

# In a state of its own, so that this system's apt sees nothing of it.
archive_apt() {
    local command=$1
    shift
    "$command" -qq -o Dir::Etc::sourcelist="$archive_state/sources" \
        -o Dir::Etc::sourceparts=/dev/null -o Dir::State="$archive_state/state" \
        -o Dir::State::status=/dev/null -o Dir::Cache="$archive_state/cache" \
        -o APT::Sandbox::User="$(id -un)" \
        -o APT::Architecture="$(dpkg --print-architecture)" -o Acquire::Languages=none \
        -o Acquire::Retries=3 "$@"
}

# open_archive TYPE SUITE...: the lists of these suites, TYPE being deb or deb-src.
open_archive() {
    local type=$1 suite mirror
    shift
    mirror=$(debian_mirror)
    if [ -z "$mirror" ]; then
        echo 'apt names no mirror of Debian here: set DEBIAN_MIRROR' >&2
        return 1
    fi
    archive_state=$(mktemp -d "${TMPDIR:-/tmp}/hostlaunch-archive.XXXXXX")
    mkdir -p "$archive_state/state/lists/partial" "$archive_state/cache/archives/partial"
    for suite in "$@"; do
        echo "$type [signed-by=$archive_keyring] $mirror $suite main"
    done >"$archive_state/sources"
    archive_apt apt-get update </dev/null
}

close_archive() {
    rm -rf "$archive_state"
    archive_state=
}

# unpack_packages NAME FOLDER: from the archive that is open.
unpack_packages() {
    local name=$1 folder=$2 package packages
    # Everything that they need down to libc: with an empty status file nothing is there yet.
    packages=$(archive_apt apt-get install --print-uris -y --no-install-recommends \
        "python$name-minimal" "libpython$name-stdlib" | awk '{print $2}' | sed 's/_.*//')
    [ -n "$packages" ] || return 1
    mkdir -p "$archive_state/packages" || return
    # shellcheck disable=SC2086
    (cd "$archive_state/packages" && archive_apt apt-get download $packages "libpython$name-dev") ||
        return
    for package in "$archive_state"/packages/*.deb; do
        dpkg-deb -x "$package" "$folder" || return
    done
    # The one beside Python.h looks for this one in the system's include path.
    mv "$folder"/usr/include/*/"python$name/pyconfig.h" "$folder/usr/include/python$name/pyconfig.h"
}

# The interpreter in FOLDER must not meet this system's libc. A script takes its place, so that
# sys.executable starts the same one again. The option hides LD_LIBRARY_PATH, so it is put behind.
write_starter() {
    local folder=$1 program=$1/usr/bin/python$2 loader libraries
    loader=$(find "$folder/lib" "$folder/usr/lib" -name 'ld-linux*.so.*' -type f 2>/dev/null |
        head -n 1)
    [ -n "$loader" ] || return 1
    libraries=$(find "$folder/usr/lib" "$folder/lib" -maxdepth 1 -name '*-linux-gnu*' 2>/dev/null |
        paste -sd:)
    mv "$program" "$program.program"
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nexec "%s" --library-path "%s%s" --argv0 "$0" "%s" "$@"\n' \
        "$loader" "$libraries" '${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}' "$program.program" \
        >"$program"
    chmod +x "$program"
}

# Unpacks FOLDER/usr/bin/pythonNAME from the first of the suites that has it.
unpack_interpreter() {
    local name=$1 folder=$2 suite suites=(sid forky trixie bookworm)
    [ "$name" != 3.11 ] || suites=(bookworm)
    for suite in "${suites[@]}"; do
        if open_archive deb "$suite" && unpack_packages "$name" "$folder" &&
            write_starter "$folder" "$name"; then
            close_archive
            echo "Debian $suite, unpacked" >"$folder/origin"
            return
        fi
        close_archive
        rm -rf "$folder"
    done
    return 1
}

# fetch_source NAME FOLDER: the newest source of it that can be fetched. Stable releases keep
# theirs; of the others an index may name files that are gone already.
fetch_source() {
    local name=$1 folder=$2 version
    open_archive deb-src sid forky trixie bookworm || return
    while IFS= read -r version; do
        (cd "$archive_state" && archive_apt apt-get source --download-only \
            "python$name=$version" 2>/dev/null) || continue
        mkdir -p "$folder" &&
            tar -xf "$archive_state/python${name}_${version%-*}.orig.tar.xz" -C "$folder" \
                --strip-components=1
        return
    done < <(archive_apt apt-cache showsrc "python$name" 2>/dev/null |
        sed -n 's/^Version: //p' | sort -urV)
    return 1
}

# What no test needs and what takes long to compile.
unneeded_modules() {
    printf '%s\n' '*disabled*' _bz2 _codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr \
        _codecs_tw _curses _curses_panel _dbm _decimal _elementtree _gdbm _hashlib _lzma \
        _multibytecodec _sqlite3 _ssl _tkinter _zoneinfo readline xxlimited xxlimited_35 xxsubtype
}

# Builds FOLDER/bin/pythonNAME without a GIL: quickly, not for speed.
build_free_threaded() {
    local name=$1 folder=$2 source version
    source=$(mktemp -d "${TMPDIR:-/tmp}/hostlaunch-python.XXXXXX")
    fetch_source "${name%t}" "$source/tree" || {
        rm -rf "$source"
        close_archive
        return 1
    }
    close_archive
    mkdir -p build
    (
        cd "$source/tree"
        unneeded_modules >Modules/Setup.local
        ./configure --prefix="$folder" --disable-gil --without-ensurepip --disable-test-modules \
            OPT='-O1 -DNDEBUG' && make -j "$(nproc)" &&
            # Without `libinstall`, which compiles every module of the library three times.
            make altbininstall inclinstall sharedinstall &&
            cp -r Lib/. "$(cat pybuilddir.txt)"/_sysconfigdata*.py "$folder/lib/python$name/" &&
            rm -rf "$folder/lib/python$name/test"
    ) >"build/python$name.log" 2>&1 || {
        echo "see build/python$name.log" >&2
        rm -rf "$source" "$folder"
        return 1
    }
    version=$("$folder/bin/python$name" -c 'import platform; print(platform.python_version())')
    echo "built from Debian's source of $version" >"$folder/origin"
    rm -rf "$source"
}

# Unpacks or builds one. The file `origin` in its folder is written last, so that one that was cut
# short is made again.
fetch_interpreter() {
    local name=$1 folder=$2
    if [ "$name" = 3.12 ]; then
        origin="not found on PATH or in ~/.pyenv, and Debian has none"
        return 1
    fi
    if ! command -v apt-get >/dev/null || [ ! -e "$archive_keyring" ]; then
        origin="not found on PATH or in ~/.pyenv, and this system cannot read Debian's archive"
        return 1
    fi
    rm -rf "$folder"
    mkdir -p "$(dirname "$folder")"
    if [ "${name%t}" = "$name" ]; then
        step "unpacking Python $name from Debian's archive"
        unpack_interpreter "$name" "$folder" && return
        origin="not found on PATH or in ~/.pyenv, and its packages could not be fetched from Debian"
    else
        step "building Python $name from Debian's source"
        build_free_threaded "$name" "$folder" && return
        origin="not found on PATH or in ~/.pyenv, and no source of it could be fetched or built"
    fi
    return 1
}

find_interpreter() {
    local name=$1 folder=$kept_interpreters/$1
    find_installed "$name" && return
    [ -e "$folder/origin" ] || fetch_interpreter "$name" "$folder" || return
    interpreter=$folder/usr/bin/python$name
    [ -e "$interpreter" ] || interpreter=$folder/bin/python$name
    origin=$(cat "$folder/origin")
    is_interpreter "$interpreter" "$name" || {
        origin="the one in $folder does not run; remove the folder to have it made anew"
        return 1
    }
}
