# SPDX-License-Identifier: Apache-2.0
"""Which items of the contract a test names: for `pytest --contract` and `ctest -L`.

Run by ctest with the folder of C++ tests and its build folder: prints the label of each test.
"""

import ast
import functools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

NUMBER = r"[A-Z]\d+'?"
NAMED = re.compile(
    rf"contract: ((?:section \d+|{NUMBER}|\d+)(?:[,;] (?:section \d+|{NUMBER}|\d+))*)"
)
CASE = re.compile(r"((?:^//[^\n]*\n)*)^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", re.MULTILINE)
REGISTERED = re.compile(r"^add_test\(\[=\[(.*?)\]=\]", re.MULTILINE)


def items_in(text: str | None) -> set[str]:
    """Return the items that a docstring or comment names: `L4`, `section 2`."""
    found = set()
    for match in NAMED.finditer(
        " ".join(re.sub(r"^\s*(//|#)", "", text or "", flags=re.M).split())
    ):
        for name in re.split(r"[,;] ", match[1]):
            found.add(f"section {name}" if name.isdigit() else name)
    return found


def documented(page: str) -> list[str]:
    """Return all items that the page of the contract has, the numbered sections included."""
    return [
        name or f"section {section}"
        for name, section in re.findall(rf"^(?:- ({NUMBER}) |## (\d+)\. )", page, re.MULTILINE)
    ]


def cxx_head(text: str) -> str:
    """The comment that a file begins with."""
    return re.match(r"(?://[^\n]*\n)*", text)[0]


def cxx_cases(path: Path) -> dict[str, set[str]]:
    """Return each case of a file, as `suite.name`, with the items that comments name for it."""
    text = path.read_text()
    of_file = items_in(cxx_head(text))
    return {
        f"{suite}.{name}": items_in(comment) | of_file
        for comment, suite, name in CASE.findall(text)
    }


@functools.cache
def python_cases(path: Path) -> dict[str, set[str]]:
    """Return each test function of a file with the items that it or its module names."""
    lines = path.read_text().split("\n")
    module = ast.parse("\n".join(lines))
    of_file = items_in(ast.get_docstring(module))
    cases = {}
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            above = comment_above(lines, first - 1)
            cases[node.name] = items_in(ast.get_docstring(node)) | items_in(above) | of_file
    return cases


def comment_above(lines: list[str], index: int) -> str:
    """The comment that ends right before a line."""
    first = index
    while first > 0 and lines[first - 1].startswith("#"):
        first -= 1
    return "\n".join(lines[first:index])


def labels(sources: Path, build: Path) -> Iterator[str]:
    """Yield a command of CMake for each registered test that names an item."""
    items = {}
    for path in sorted(sources.glob("*.cpp")):
        items |= cxx_cases(path)
    for path in sorted(build.glob("*_tests.cmake")):
        for name in REGISTERED.findall(path.read_text()):
            # A case of many parameters: instance/suite.name/parameter.
            case = re.match(r"(?:\w*/)?(\w+\.\w+)", name)
            if case and items.get(case[1]):
                named = ";".join(sorted(items[case[1]]))
                yield f'set_tests_properties([=[{name}]=] PROPERTIES LABELS "{named}")'


if __name__ == "__main__":
    print("\n".join(labels(Path(sys.argv[1]), Path(sys.argv[2]))))
