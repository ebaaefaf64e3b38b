# SPDX-License-Identifier: Apache-2.0
"""Each item of the contract has a test that names it, and the names are found where they stand."""

from pathlib import Path

import pytest

import contract

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/contract.md").read_text()


def named_by_tests(root):
    """Give all items that a test of either language names."""
    named = set()
    for path in sorted((root / "tests").rglob("*.cpp")):
        named.update(*contract.cxx_cases(path).values())
    for path in sorted((root / "tests").rglob("test_*.py")):
        named.update(*contract.python_cases(path).values())
    return named


def untested(page, named):
    """Give the items without a test; a section has one if an item in it has."""
    missing = []
    for text in page.split("\n## ")[1:]:
        section, *items = contract.documented(f"## {text}")
        missing += [item for item in items if item not in named]
        if named.isdisjoint([section, *items]):
            missing.append(section)
    return missing


def test_each_item_of_the_contract_has_a_test():
    assert len(contract.documented(PAGE)) > 40
    assert untested(PAGE, named_by_tests(ROOT)) == []


def test_an_item_without_a_test_is_noticed():
    page = PAGE + "\n- Z9 nobody tests this.\n\n## 99. Nor this\n\n- Z10 or that.\n"
    assert untested(page, named_by_tests(ROOT)) == ["Z9", "Z10", "section 99"]


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("contract: L4", {"L4"}),
        ("contract: L4, D2'. Not X1.", {"L4", "D2'"}),
        ("contract: section 1, 2, B1. As S2.", {"section 1", "section 2", "B1"}),
        ("contract: O4; section 2: Stream(None).", {"O4", "section 2"}),
        ("// What it is.\n// contract: X1,\n// X2 (a setting)\n", {"X1", "X2"}),
        ("contract: none, the benchmarks' own.", set()),
        (None, set()),
    ],
)
def test_items_are_read_from_docstrings_and_comments(text, items):
    assert contract.items_in(text) == items


def test_cxx_cases_have_the_items_of_their_comment_and_of_their_file(tmp_path):
    file = tmp_path / "a.cpp"
    file.write_text(
        "// A file.\n// contract: G1\n\n// contract: L4\nTEST_F(a, b) {}\nTEST(a, c) {}\n"
    )
    assert contract.cxx_cases(file) == {"a.b": {"G1", "L4"}, "a.c": {"G1"}}


def test_python_cases_have_the_items_of_docstring_comment_and_module(tmp_path):
    file = tmp_path / "test_a.py"
    file.write_text(
        '"""A file. contract: G1."""\n\n# contract: L4\n@mark\ndef test_a():\n    pass\n\n\n'
        'def test_b():\n    """contract: L5."""\n'
    )
    assert contract.python_cases(file) == {"test_a": {"G1", "L4"}, "test_b": {"G1", "L5"}}


def test_labels_are_given_to_each_parameter_of_a_case(tmp_path):
    (tmp_path / "a.cpp").write_text(
        "// A file.\n\n// contract: L4, X1\nTEST_P(a, b) {\n}\nTEST(c, d) {\n}\n"
    )
    (tmp_path / "a[1]_tests.cmake").write_text(
        "add_test([=[all/a.b/x  # GetParam() = x]=]  /a [==[--gtest_filter=all/a.b/0]==])\n"
        "add_test([=[c.d]=]  /a [==[--gtest_filter=c.d]==])\n"
    )
    assert list(contract.labels(tmp_path, tmp_path)) == [
        'set_tests_properties([=[all/a.b/x  # GetParam() = x]=] PROPERTIES LABELS "L4;X1")'
    ]
