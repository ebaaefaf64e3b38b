#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the C++ example as a user does: check_pipeline.sh PROGRAM WORK_FOLDER.
set -euo pipefail

program=$1
work=$2
export HOSTLAUNCH_DRIVER=${HOSTLAUNCH_DRIVER:-embedded}
rm -rf "$work"
mkdir -p "$work"
cd "$work"
chunk=4096

die() {
    printf 'failed: %s\n' "$*" >&2
    exit 1
}

run() { timeout 60 "$program" "$@"; }

# expect_same SIZE BUFFERS: hash and output are those of a file of this size.
expect_same() {
    head -c "$1" /dev/urandom >file
    run file --output out --chunk-size $chunk --buffers "$2" >report 2>errors || die "size $1"
    [ "$(head -1 report)" = "$(sha256sum file)" ] || die "the hash of $1 bytes: $(cat report)"
    cmp file out || die "the output of $1 bytes"
    [ ! -s errors ] || die "size $1 wrote to stderr: $(cat errors)"
}

# expect_error CODE TEXT ARGUMENT...: one line that contains TEXT, nothing on stdout.
expect_error() {
    local code=$1 text=$2 status=0
    shift 2
    run "$@" >report 2>errors || status=$?
    [ "$status" -eq "$code" ] || die "$*: exit code $status, not $code"
    [ "$(wc -l <errors)" -eq 1 ] || die "$*: $(cat errors)"
    [ ! -s report ] || die "$*: $(cat report)"
    grep -qF -- "$text" errors || die "$*: '$text' is not in: $(cat errors)"
}

for size in 0 1 $((chunk - 1)) $chunk $((chunk + 1)) $((2 * chunk)) $((100 * chunk + 1)); do
    for buffers in 1 2 5; do
        expect_same "$size" "$buffers"
    done
done
grep -qE '^[0-9]+ host functions ran on the (embedded|cuda) driver \(CUDA ' report ||
    die "the report: $(cat report)"

expect_error 1 'missing: No such file or directory' missing
expect_error 1 'not a regular file' .
expect_error 1 'is the input file' file --output file
expect_error 1 '/dev/full: No space left on device' file --output /dev/full --chunk-size $chunk
expect_error 1 'none/out: No such file or directory' file --output none/out
mkfifo pipe
expect_error 1 'pipe: is a pipe' file --output pipe
HOSTLAUNCH_DRIVER=/nowhere/lib.so expect_error 1 /nowhere/lib.so file
expect_error 2 usage: file --chunk-size 0
expect_error 2 usage: --no

run >report || die 'the sample'
grep -q 'known SHA-256 of the sample: OK' report || die "the sample: $(cat report)"
