#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: scripts/chroot_check.sh SUITE [TARGET...]
#
# Proves that a new machine can follow the README: makes a minimal Debian SUITE (bookworm, trixie)
# with git and make and nothing else, clones HEAD into it and runs each make TARGET there (demo
# and test if none is named), each twice, since the second run has to be quick. Needs root.
#
# CHROOT_DIR    where the system is unpacked (a temporary folder), removed afterwards
# CHROOT_CACHE  where the bare system is kept for the next time (~/.cache/hostlaunch-chroot)
# CHROOT_KEEP   1: leave the system in place, to look around in
# DEBIAN_MIRROR where Debian comes from (the first one that this machine's apt uses)
set -euo pipefail
# shellcheck source=scripts/steps.sh
. "$(dirname "$0")/steps.sh"

[ $# -gt 0 ] || die "usage: $0 SUITE [TARGET...]"
[ "$(id -u)" -eq 0 ] || die "a chroot needs root"
suite=$1
shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(demo test)
cache=${CHROOT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hostlaunch-chroot}
base=$cache/$suite.tar
home=/root/hostlaunch

if [ -n "${CHROOT_DIR:-}" ]; then
    [ ! -e "$CHROOT_DIR" ] || die "CHROOT_DIR=$CHROOT_DIR exists"
    mkdir -p "$CHROOT_DIR"
    dir=$(realpath "$CHROOT_DIR")
else
    dir=$(mktemp -d "${TMPDIR:-/tmp}/hostlaunch-chroot.XXXXXX")
fi
# apt fetches as a user of its own, who has to get in.
chmod 755 "$dir"
log=$(mktemp)

# Nothing is ever mounted where this shell can see it (enter), so removing the folder is safe.
# shellcheck disable=SC2317
finish() {
    rm -f "$log"
    if [ "${CHROOT_KEEP:-}" = 1 ]; then
        echo "kept: $dir"
    else
        rm -rf --one-file-system "$dir"
    fi
}
trap finish EXIT
trap 'exit 130' INT TERM

# Runs a command, silent unless it fails.
quietly() {
    "$@" </dev/null >"$log" 2>&1 || {
        cat "$log" >&2
        die "failed: $*"
    }
}

make_base() {
    if ! command -v debootstrap >/dev/null; then
        step "installing debootstrap"
        quietly apt-get -qq update
        quietly env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y \
            --no-install-recommends debootstrap
    fi
    local mirror
    mirror=$(debian_mirror)  # without one, debootstrap has its own default
    step "making a minimal $suite with debootstrap"
    quietly debootstrap --variant=minbase --include=ca-certificates,git,make \
        "$suite" "$dir" ${mirror:+"$mirror"}
    # Lists that are there already would hide that one is never fetched.
    rm -rf "$dir"/var/cache/apt/archives/*.deb "$dir"/var/lib/apt/lists/*
    mkdir -p "$cache"
    tar -C "$dir" -cf "$base.part" .
    mv "$base.part" "$base"
}

# The network as this machine has it: names, certificates, apt's settings.
lend_network() {
    local path
    for path in /etc/resolv.conf /etc/hosts; do
        [ ! -e "$path" ] || cp -L "$path" "$dir$path"
    done
    mkdir -p "$dir/usr/local/share/ca-certificates"
    find /usr/local/share/ca-certificates -name '*.crt' \
        -exec cp -L {} "$dir/usr/local/share/ca-certificates/" \; 2>/dev/null || true
    quietly chroot "$dir" update-ca-certificates
    apt-config dump | grep -E '^Acquire::(https?|Check-|Retries)' \
        >"$dir/etc/apt/apt.conf.d/90network" || true
}

# Proxies, certificates and package indexes that this machine's environment names; paths only if
# the new system has them as well.
network_environment() {
    local name value
    while IFS='=' read -r -d '' name value; do
        case $name in
        *_proxy | *_PROXY | PIP_* | SSL_CERT_* | REQUESTS_CA_BUNDLE | CURL_CA_BUNDLE)
            [[ $value != /* || -e $dir$value ]] && printf '%s=%s\0' "$name" "$value"
            ;;
        esac
    done < <(env -0)
}

# Runs a command inside, in namespaces of its own: however this ends, the mounts and whatever
# still runs end with it.
enter() {
    local environment
    mapfile -d '' environment < <(network_environment)
    # shellcheck disable=SC2016
    unshare --mount --propagation private --pid --fork --kill-child bash -c '
        set -e
        dir=$1
        shift
        mount -t proc proc "$dir/proc"
        mount --rbind /sys "$dir/sys"
        mount --rbind /dev "$dir/dev"
        exec chroot "$dir" "$@"
    ' enter "$dir" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
        "${environment[@]}" "$@" </dev/null
}

if [ -f "$base" ]; then
    step "unpacking the $suite of $(date -r "$base" +%F)"
    tar -C "$dir" -xf "$base"
else
    make_base
fi
lend_network
step "cloning HEAD, $(git rev-parse --short HEAD)"
git clone --quiet --no-hardlinks "$root" "$dir$home"

status=0
summary=()
for target in "${targets[@]}"; do
    for run in first second; do
        step "$suite: make $target ($run run)"
        started=$SECONDS
        result=passed
        enter make -C "$home" --no-print-directory "$target" || {
            result="FAILED ($?)"
            status=1
        }
        summary+=("$suite: make $target, $run run: $result in $((SECONDS - started)) s")
    done
done
printf '\n'
printf '%s\n' "${summary[@]}"
exit "$status"
