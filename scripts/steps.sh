# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
# What the scripts share: one line for each step, limits, and stamps that make a second run quick.
# Sourced, never run. Leaves the caller in the repository root, with .venv/bin first on PATH; needs
# no .venv, and downloads nothing.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1
venv=.venv
# The cmake and ninja in .venv, if they had to be installed there, win over older system ones.
PATH="$root/$venv/bin:$PATH"
export PATH PIP_DISABLE_PIP_VERSION_CHECK=1

step() { printf '==> %s\n' "$*"; }

die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# bounded NAME LIMIT_S COMMAND...: a step that ends in time. Adds a line to summary and returns what
# the command does (124 or 137 if the time was up); failed is 1 once one has failed.
summary=()
failed=0
bounded() {
    local name=$1 limit=$2 start=$SECONDS status=0
    shift 2
    step "$name"
    timeout --kill-after=10 "$limit" "$@" || status=$?
    if [ "$status" -eq 0 ]; then
        summary+=("ok      $name ($((SECONDS - start)) s)")
    else
        summary+=("FAILED  $name (exit code $status)")
        failed=1
    fi
    return "$status"
}

# Prints where Debian comes from: DEBIAN_MIRROR, else the first one that this machine's apt uses,
# else nothing.
debian_mirror() {
    if [ -n "${DEBIAN_MIRROR:-}" ]; then
        printf '%s\n' "$DEBIAN_MIRROR"
        return
    fi
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null |
        grep -m 1 '/debian/*$' || true
}

# hash_of PATH...: one hash of the names and contents of these files and folders.
# Paths that do not exist count as absent.
hash_of() {
    { find "$@" -name __pycache__ -prune -o -type f -print0 2>/dev/null || true; } |
        LC_ALL=C sort -z | xargs -0r sha256sum | sha256sum | cut -d' ' -f1
}

# A stamp is a file in .venv that holds the hash of what a step was made from.
# It is written last, so that a step cut short is run again.
stamp_is() { [ "$(cat "$venv/stamps/$1" 2>/dev/null)" = "$2" ]; }

stamp() {
    mkdir -p "$venv/stamps"
    printf '%s\n' "$2" >"$venv/stamps/$1"
}

# begin_beside COMMAND...: runs it beside what follows; end_beside waits, and returns its status.
# One at a time. If the script ends before, it and all that it started end as well.
begin_beside() {
    set -m  # a process group of its own
    "$@" &
    beside=$!
    set +m
    trap 'kill -- "-$beside" 2>/dev/null || true' EXIT
    trap 'exit 130' INT TERM
}

end_beside() {
    local status=0
    wait "$beside" || status=$?
    trap - EXIT INT TERM
    return "$status"
}
