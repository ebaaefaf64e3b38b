# SPDX-License-Identifier: Apache-2.0
"""The files, tests and places that the documentation names are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTING = (ROOT / "docs/testing.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "examples/README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FILE = re.compile(r"`((?:python/src|src|tests)/[\w/.]+)(?:: (\w+))?`|`(\w+)`")


def section(title):
    """Give the rows of the table under a heading, each as its cells."""
    text = TESTING.partition(f"## {title}\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return rows[2:]


def named_in(cell):
    """Give (file, test) for each that a cell names; a bare name is in the file before it."""
    file = None
    for path, first, further in FILE.findall(cell):
        file = path or file
        if file is not None:
            yield file, first or further


def defines(path, name):
    """Whether a file has that test, or that fixture."""
    before = r"def (test_)?" if path.suffix == ".py" else r"^TEST\w*\([^)]*\b"
    return re.search(rf"{before}{name}\b", path.read_text(), re.MULTILINE) is not None


def missing(cell):
    """Give those that are not there."""
    for file, name in named_in(cell):
        path = ROOT / file
        if not path.is_file() or (name and not defines(path, name)):
            yield f"{file}: {name}"


def places_of(page):
    """Give the anchors of a page's headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for heading in re.findall(r"^#+ (.*)", text, re.MULTILINE):
        yield re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def broken_links(page, text):
    """Give the links to files of ours that lead nowhere."""
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        file, _, place = link.partition("#")
        target = (page.parent / file) if file else page
        if "://" in link:
            continue
        if not target.exists() or (place and place not in places_of(target)):
            yield link


def test_each_test_that_guards_against_a_fault_exists():
    cells = [row[-1] for row in section("What went wrong elsewhere")]
    assert sum(len(list(named_in(cell))) for cell in cells) > 80
    assert [name for cell in cells for name in missing(cell)] == []


def test_each_lock_free_part_has_a_statement_and_tests_that_exist():
    rows = section("Lock-free parts")
    assert len(rows) >= 9
    for part, stated, tests in rows:
        assert list(missing(stated)) == [], part
        assert list(missing(tests)) == [], part
        named = [file for file, _ in named_in(tests)]
        assert named, part
        assert all(file.startswith("tests/") for file in named), part
        # What the pattern does not know would go unchecked.
        assert (stated + tests).count("`") == 2 * len([*named_in(stated), *named]), part


def test_each_link_leads_to_a_place_that_is_there():
    for page in PAGES:
        assert list(broken_links(page, page.read_text())) == [], page.name


def test_a_name_that_is_gone_is_noticed():
    assert list(missing("`tests/layout/test_documentation.py: no_such` and `tests/none.py`")) == [
        "tests/layout/test_documentation.py: no_such",
        "tests/none.py: ",
    ]
    assert list(missing("`tests/layout/test_documentation.py: missing`, `nor_this`")) == [
        "tests/layout/test_documentation.py: nor_this",
    ]


def test_a_link_that_leads_nowhere_is_noticed():
    text = "[a](testing.md) [b](gone.md) [c](testing.md#presets) [d](testing.md#gone) [e](#gone)"
    assert list(broken_links(ROOT / "docs/testing.md", text)) == [
        "gone.md",
        "testing.md#gone",
        "#gone",
    ]


def test_each_script_that_is_named_anywhere_is_there():
    places = [*PAGES, ROOT / "Makefile", ROOT / ".ci/run", *(ROOT / "scripts").iterdir()]
    texts = [place.read_text() for place in places if place.is_file()]
    named = {name for text in texts for name in re.findall(r"\bscripts/\w+\.(?:sh|py)\b", text)}
    assert "scripts/build.sh" in named
    assert sorted(name for name in named if not (ROOT / name).is_file()) == []
