#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs cuda.core's own tests, from a checkout of them that FOLDER names, on the embedded driver, and
# prints for each file how many passed, failed, were skipped and crashed, then the reasons.
# PYTHON (default: .venv's) needs hostlaunch, pytest, cuda-core and cuda-bindings, and whatever else
# these tests import. Nothing of theirs is kept here.
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: scripts/peer_suite.sh FOLDER [PYTEST ARGUMENTS]" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-$root/.venv/bin/python}
exec "$python" -m hostlaunch.embedded "$python" "$root/scripts/peer_suite.py" "$@"
