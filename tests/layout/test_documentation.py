# SPDX-License-Identifier: Apache-2.0
"""The tests that the documentation names are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILE = re.compile(r"`((?:src|tests)/[\w/.]+)(?:: (\w+))?`|`(\w+)`")


def named_tests(text):
    """Give (file, test) for each that the table names; a bare name is in the file before it."""
    for row in text.splitlines():
        cells = row.split(" | ")
        file = None
        for path, first, further in FILE.findall(cells[-1]) if len(cells) == 2 else ():
            file = path or file
            if file is not None:
                yield file, first or further


def defines(path, name):
    """Whether a file has that test, or that fixture."""
    before = r"def (test_)?" if path.suffix == ".py" else r"^TEST\w*\(.*\b"
    return re.search(rf"{before}{name}\b", path.read_text(), re.MULTILINE) is not None


def missing(text):
    """Give those that are not there."""
    for file, name in named_tests(text):
        path = ROOT / file
        if not path.is_file() or (name and not defines(path, name)):
            yield f"{file}: {name}"


def test_each_test_that_guards_against_a_fault_exists():
    text = (ROOT / "docs/testing.md").read_text().partition("## What went wrong elsewhere")[2]
    assert len(list(named_tests(text))) > 80
    assert list(missing(text)) == []


def test_a_name_that_is_gone_is_noticed():
    text = "| a | `tests/layout/test_documentation.py: no_such` and `tests/none.py` |\n"
    text += "| b | `tests/layout/test_documentation.py: missing`, `nor_this` |\n"
    assert list(missing(text)) == [
        "tests/layout/test_documentation.py: no_such",
        "tests/none.py: ",
        "tests/layout/test_documentation.py: nor_this",
    ]
