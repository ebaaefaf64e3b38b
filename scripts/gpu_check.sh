#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The checks that need an NVIDIA GPU: builds the extension for PYTHON (default python3) with what
# that Python has installed (nanobind, pytest, hypothesis; no downloads), then runs the Python tests
# and the demo on the real driver and prints a summary. Streams of cuda.core, torch, CuPy and
# numba-cuda are tried where they are installed; the tests of two devices where there are two GPUs.
# With a build folder as argument (one made with HOSTLAUNCH_BUILD_TESTS=ON) it runs the contract
# suite from there too.
set -uo pipefail
outer_path=$PATH
# shellcheck source=scripts/steps.sh
. "$(dirname "$0")/steps.sh"
PATH=$outer_path  # a .venv that lies here plays no part

python=${PYTHON:-python3}
build=build/gpu
prefix=$PWD/$build/site
export HOSTLAUNCH_DRIVER=cuda PYTHONPATH=$prefix PYTHONDONTWRITEBYTECODE=1

mkdir -p build
step "building the extension for $("$python" --version)"
scripts/build.sh extension "$build" || exit 1
bounded 'driver' 60 "$python" -c \
    'import hostlaunch; d = hostlaunch.driver(); print(d); assert d.name == "cuda", d'
bounded 'python tests' 420 "$python" -m pytest -q -p no:cacheprovider --timeout 60 \
    --ignore-glob='*/test_two_devices*' tests/python
gpus=$(PYTHONPATH=$PYTHONPATH:tests/support "$python" -c \
    'import cudriver; print(cudriver.handle().device_count())') || gpus=0
if [ "$gpus" -ge 2 ]; then
    bounded "tests of two devices, on $gpus GPUs" 300 "$python" -m pytest -q -p no:cacheprovider \
        --timeout 60 tests/python/test_two_devices*.py
else
    summary+=("skipped tests of two devices: $gpus GPU")
fi
bounded 'exit tests' 300 "$python" -m pytest -q -p no:cacheprovider --timeout 60 tests/shutdown
bounded 'pipeline example' 120 "$python" -m pytest -q -p no:cacheprovider --timeout 60 \
    tests/examples
bounded 'pipeline demo' 60 "$python" examples/pipeline.py

if [ -n "${1:-}" ]; then
    bounded 'contract' 240 scripts/gpu_contract.sh "$1"
fi

step 'summary'
"$python" -c 'import hostlaunch, platform; d = hostlaunch.driver()
print("Python", platform.python_version(), "driver", d.name, d.version)'
printf '%s\n' "${summary[@]}"
exit "$failed"
