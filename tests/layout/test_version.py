# SPDX-License-Identifier: Apache-2.0
"""The version is written once."""

import importlib.metadata
import re
import subprocess
from pathlib import Path

import hostlaunch

ROOT = Path(__file__).parents[2]
HEADER = "include/hostlaunch/version.hpp"


def written():
    """Give the version that the header says."""
    return ".".join(re.findall(r"VERSION_\w+ (\d+)", (ROOT / HEADER).read_text()))


def test_the_package_and_its_metadata_tell_the_version_of_the_header():
    """contract: I4."""
    assert re.fullmatch(r"\d+\.\d+\.\d+", written())
    assert hostlaunch.__version__ == written()
    assert importlib.metadata.version("hostlaunch") == written()


def test_no_other_file_of_the_build_has_the_version_in_it():
    """contract: I4. What only repeats it would be forgotten at the next release."""
    folders = [
        "CMakeLists.txt",
        "pyproject.toml",
        "cmake",
        "include",
        "python",
        "src",
        "docs/cpp.md",
    ]
    command = ["grep", "-rlF", "--include=*.*", "--exclude-dir=__pycache__", written(), *folders]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.stdout.splitlines() == []
