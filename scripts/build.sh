#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the extension and installs the package into .venv, if a source of it has changed.
set -euo pipefail
# shellcheck source=scripts/steps.sh
. "$(dirname "$0")/steps.sh"

key="$(cat "$venv/stamps/venv") $(hash_of CMakeLists.txt LICENSE README.md cmake include \
    pyproject.toml python requirements/build.txt src)"
if stamp_is package "$key"; then
    step "hostlaunch in .venv is up to date"
    exit
fi
step "building hostlaunch and installing it into .venv"
# No isolation: the pinned build requirements are in .venv, and the build tree can be reused.
"$venv/bin/python" -m pip install --quiet --no-input --no-index --no-deps --no-build-isolation \
    --force-reinstall .
"$venv/bin/python" -W ignore -c 'import hostlaunch'
stamp package "$key"
