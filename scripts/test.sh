#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the Python tests, while the C++ tests of a CMake preset are built, and then those, and ends
# with one line that counts both. Both run even if the first fails; the exit status says whether all
# passed.
set -euo pipefail
# shellcheck source=scripts/steps.sh
. "$(dirname "$0")/steps.sh"

preset=${1:-dev}
results=$root/build/results
mkdir -p "$results"
rm -f "$results"/*.xml

step "building the C++ tests (preset $preset), meanwhile"
begin_beside scripts/build.sh tests "$preset"

step "running the Python tests"
pytest_status=0
"$venv/bin/python" -m pytest --junit-xml="$results/pytest.xml" || pytest_status=$?

step "running the C++ tests"
end_beside
ctest_status=0
ctest --preset "$preset" -j "$(nproc)" --output-junit "$results/ctest.xml" || ctest_status=$?

"$venv/bin/python" scripts/count_tests.py \
    "$results/ctest.xml" "$ctest_status" "$results/pytest.xml" "$pytest_status"
