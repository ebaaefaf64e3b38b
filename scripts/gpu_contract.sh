#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the built contract programs on the NVIDIA driver: gpu_contract.sh BUILD_FOLDER.
# Cases that end, fork or break a process are run one by one, each bounded. Lines that begin with
# "observed" say what the driver does where the suite demands nothing. HOSTLAUNCH_DRIVER, if
# set, names another driver. Ends with a line for each program; the exit status says if all passed.
set -uo pipefail

if [ $# -ne 1 ] || [ ! -d "$1/tests/contract" ]; then
    echo "usage: $0 BUILD_FOLDER (a build tree with HOSTLAUNCH_BUILD_TESTS=ON)" >&2
    exit 2
fi
programs=$1/tests/contract
export HOSTLAUNCH_DRIVER=${HOSTLAUNCH_DRIVER:-cuda}
summary=()
failed=0

# whole NAME LIMIT_S: all cases of a program in one process.
whole() {
    local status=0 text
    text=$(timeout --kill-after=10 "$2" "$programs/$1" --gtest_brief=1 2>&1) || status=$?
    grep -v -e ': Skipped$' -e '^this driver has no' -e '^it cannot capture' <<<"$text"
    [ "$status" -eq 0 ] || failed=1
    text=$(grep -E '^\[  (PASSED|FAILED|SKIPPED)|FAILED TESTS?$' <<<"$text" | head -3)
    summary+=("$1: exit code $status; ${text//$'\n'/; }")
}

# one_by_one NAME LIMIT_S: each case of a program in a process of its own.
one_by_one() {
    local suite='' line name status passed=0 bad=0
    while IFS= read -r line; do
        case $line in
            *.) suite=$line && continue ;;
        esac
        name=$suite${line//[[:space:]]/}
        status=0
        text=$(timeout --kill-after=10 "$2" "$programs/$1" --gtest_brief=1 \
            --gtest_filter="$name" 2>&1) || status=$?
        if [ "$status" -eq 0 ]; then
            passed=$((passed + 1))
            grep '^observed: ' <<<"$text"
        else
            bad=$((bad + 1))
            failed=1
            printf '%s: exit code %s\n%s\n' "$name" "$status" "$text"
        fi
    done < <("$programs/$1" --gtest_list_tests)
    summary+=("$1: $passed cases passed, $bad failed")
}

whole contract_driver_test 300
whole contract_library_test 120
one_by_one contract_process_test 120

printf '%s\n' "${summary[@]}"
exit "$failed"
