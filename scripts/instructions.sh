#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Counts our instructions per launch and per callback, and fails if they exceed their limits.
set -euo pipefail
# shellcheck source=scripts/steps.sh
. "$(dirname "$0")/steps.sh"

build=build/bench
step "building the C++ benchmarks"
scripts/build.sh benchmarks "$build"
step "counting instructions"
"$venv/bin/python" scripts/instruction_check.py "$build" "$@"
