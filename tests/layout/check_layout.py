#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check sizes, heads, line widths and layers of the sources: check_layout.py [ROOT].

Prints one line for each violation and exits with 1 if there is one. Whether every public header
compiles alone is checked by CMake, in the build of the tests.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

FOLDERS = ("bench", "cmake", "examples", "include", "python", "scripts", "src", "tests")
CXX = {".c", ".cpp", ".def", ".h", ".hpp"}
SUFFIXES = CXX | {".cmake", ".py", ".pyi", ".sh"}
NAMES = {"CMakeLists.txt", "Makefile"}

PUBLIC_HEADER_LINES = 200
SOURCE_LINES = 400
FUNCTION_LINES = 60
COLUMNS = 100

# What may be longer, and why. A file here says which rule it is excepted from.
EXCEPTIONS = {
    ("python/hostlaunch/embedded.py", "settings"): "hands its environment on to another program",
    ("src/driver/entries.def", "width"): "one entry of the table on each line",
    ("src/embedded/entry_list.def", "width"): "one entry point on each line",
    ("src/embedded/entries/error_names.def", "width"): "one error on each line",
    ("tests/contract/extra_entries.def", "width"): "one entry point on each line",
    ("tests/contract/memory_entries.def", "width"): "one entry point on each line",
}

EXTENSION = "python/src"
LIBRARY = ("core/", "diagnosis/", "hostlaunch/")  # never driver/: the core is what speaks to it

# The floors of the core, the lowest first: each may include what lies below it, never above.
FLOORS = ("process", "task", "objects", "routes", "graphs")


def floors(top: str) -> tuple[str, ...]:
    """What a floor of the core may include of the core."""
    below = FLOORS[: FLOORS.index(top) + 1]
    return ("core/status.hpp", *(f"core/{floor}/" for floor in below))


# What the files of a folder may include in quotes, as prefixes. Longest folder first.
LAYERS = {
    "include/hostlaunch": ("hostlaunch/",),
    "src/embedded/engine": ("embedded/engine/", "embedded/abi.hpp", "driver/settings.hpp"),
    "src/embedded/controls": (
        "embedded/controls/",
        "embedded/engine/",
        "embedded/control.hpp",
        "embedded/entry_",
    ),
    "src/embedded/entries": ("embedded/",),
    "src/embedded": ("embedded/abi.hpp", "embedded/entry_list.def", "driver/abi.hpp"),
    "src/driver": ("driver/", "hostlaunch/error.hpp"),
    "src/core/process": ("core/process/", "core/status.hpp", "driver/settings.hpp"),
    "src/core/task": (*floors("task"), "driver/abi.hpp", "hostlaunch/"),
    "src/core/objects": (*floors("objects"), "driver/"),
    "src/core/routes": (*floors("routes"), "driver/"),
    "src/core/graphs": (*floors("graphs"), "driver/"),
    "src/core": ("core/", "driver/", "hostlaunch/"),
    "src/diagnosis": (
        "diagnosis/",
        *floors("task"),
        "core/lifecycle.hpp",
        "core/routes/route.hpp",
        "driver/settings.hpp",
    ),
    "src/api": ("api/", "core/", "diagnosis/", "hostlaunch/"),
    "python/src/cpython": ("cpython/", "core/process/gate.hpp"),
    "python/src/arguments": ("arguments/", "cpython/", *LIBRARY),
    "python/src/tasks": ("tasks/", "arguments/", "cpython/", *LIBRARY),
    "python/src/classes": ("classes/", "tasks/", "arguments/", "cpython/", *LIBRARY),
    "python/src": ("import_once.hpp", "classes/", "tasks/", "arguments/", "cpython/", *LIBRARY),
}

# What they may include in angle brackets, where that is limited: in public headers the standard
# library, elsewhere nothing of Python or CUDA.
ANGLED = dict.fromkeys(LAYERS, r"(?!Python|nanobind|cuda).*") | {
    "include/hostlaunch": r"[a-z_]+",
    **{folder: r"(?!cuda).*" for folder in LAYERS if folder.startswith("python/src")},
}


# The one place that reads the environment, and what reading it looks like.
SETTINGS = "src/driver/settings.hpp"
READS_ENVIRONMENT = re.compile(r"\b(secure_getenv|getenv|environ|getenvb|environb)\b")


class Violation(NamedTuple):
    """One broken rule at one place."""

    path: str
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        """Form it as compilers do."""
        return f"{self.path}:{self.line}: {self.text} [{self.rule}]"


def source_files(root: Path) -> Iterator[PurePosixPath]:
    """Yield the paths of all sources, relative to the root."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            hidden = any(part.startswith((".", "__pycache__")) for part in path.parts)
            if path.is_file() and not hidden and (path.suffix in SUFFIXES or path.name in NAMES):
                yield PurePosixPath(path.relative_to(root))
    for name in sorted(NAMES):
        if (root / name).is_file():
            yield PurePosixPath(name)


def check_head(lines: list[str]) -> Iterator[tuple[int, str, str]]:
    """The license comes first, after a line for the shell; then what the file is."""
    first = 1 if at(lines, 0).startswith(("#!", "# shellcheck")) else 0
    license_line = r"(#|//|/\*) SPDX-License-Identifier: Apache-2\.0( \*/)?"
    if not re.fullmatch(license_line, at(lines, first)):
        yield first + 1, "head", "the first line is not the SPDX line"
    elif not re.match(r"(# |// |/\* |\"\"\"|import |from )", at(lines, first + 1)):
        yield first + 2, "head", "no sentence says what the file is"


def at(lines: list[str], index: int) -> str:
    return lines[index] if index < len(lines) else ""


def check_sizes(path: PurePosixPath, lines: list[str]) -> Iterator[tuple[int, str, str]]:
    public = path.as_posix().startswith("include/")
    limit = PUBLIC_HEADER_LINES if public else SOURCE_LINES
    if len(lines) > limit:
        yield len(lines), "lines", f"{len(lines)} lines, at most {limit} are allowed"
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            yield number, "width", f"{len(line)} columns, at most {COLUMNS} are allowed"


def blanked(text: str) -> str:
    """Replace what comments, preprocessor lines and literals contain, keeping the lines."""
    pattern = r"//[^\n]*|/\*.*?\*/|R\"\((?:.*?)\)\"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'"
    text = re.sub(pattern, keep_lines, text, flags=re.DOTALL)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", keep_lines, text, flags=re.MULTILINE)


def keep_lines(match: re.Match[str]) -> str:
    return "\n" * match.group().count("\n")


def cxx_functions(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield first line, number of lines and head of each C++ function, found by its braces.

    A block outside of functions is one itself if a parenthesis comes before its brace, and no
    namespace, class or the like.
    """
    text = blanked(text)
    scopes = re.compile(r"(template\s*<.*?>\s*)?(namespace|class|struct|union|enum)\b", re.DOTALL)
    depth, function_depth, begin, head = 0, -1, 0, ""
    start = 0  # where the current head begins
    for match in re.finditer(r"[{};]|\b(?:public|protected|private):", text):
        if match.group() == "{":
            raw = text[start : match.start()].lstrip()
            if function_depth < 0 and "(" in raw and not scopes.match(raw):
                function_depth, head = depth, " ".join(raw.split())
                begin = text.count("\n", 0, match.start() - len(raw))
            depth += 1
        elif match.group() == "}":
            depth -= 1
            if depth == function_depth:
                yield begin + 1, text.count("\n", 0, match.start()) - begin + 1, head
                function_depth = -1
        if function_depth < 0:
            start = match.end()


def python_functions(text: str) -> Iterator[tuple[int, int, str]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1, node.name


def check_functions(path: PurePosixPath, text: str) -> Iterator[tuple[int, str, str]]:
    if path.suffix in CXX:
        functions = cxx_functions(text)
    elif path.suffix == ".py":
        functions = python_functions(text)
    else:
        return
    for line, length, head in functions:
        if length > FUNCTION_LINES:
            yield line, "function", f"{length} lines, at most {FUNCTION_LINES}: {head[:50]}"


def check_layers(path: PurePosixPath, lines: list[str]) -> Iterator[tuple[int, str, str]]:
    folder = next((f for f in LAYERS if path.is_relative_to(f)), None)
    if folder is None or path.suffix not in CXX:
        return
    for number, line in enumerate(lines, 1):
        include = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
        if include is None:
            continue
        quoted, name = include[1] == '"', include[2]
        if quoted and not name.startswith(LAYERS[folder]):
            yield number, "layer", f"{folder} must not include {name}"
        allowed = ANGLED.get(folder, r".*")
        if not quoted and not re.fullmatch(allowed, name):
            yield number, "layer", f"{folder} must not include <{name}>"


def check_settings(path: PurePosixPath, lines: list[str]) -> Iterator[tuple[int, str, str]]:
    """What a user runs reads the environment in one place, which knows when not to trust it."""
    product = path.is_relative_to("src") or path.is_relative_to("python")
    if not product or path.as_posix() == SETTINGS:
        return
    for number, line in enumerate(lines, 1):
        if found := READS_ENVIRONMENT.search(line):
            yield number, "settings", f"{found[0]} outside of {SETTINGS}"


def check_private(path: PurePosixPath, lines: list[str]) -> Iterator[tuple[int, str, str]]:
    """What CPython keeps to itself, or has changed between versions, is used in one room."""
    if not path.is_relative_to(EXTENSION) or path.is_relative_to(f"{EXTENSION}/cpython"):
        return
    for number, line in enumerate(lines, 1):
        private = re.search(r"\b_Py\w+|\bPy_GIL_DISABLED\b|\bPY_VERSION_HEX\b", line)
        if private is not None:
            yield number, "private", f"{private[0]} belongs into {EXTENSION}/cpython"


def check_source(root: Path, path: PurePosixPath, text: str) -> Iterator[tuple[int, str, str]]:
    """A header of the extension has its own source, or says that it has none."""
    if path.suffix != ".hpp" or not path.is_relative_to(EXTENSION):
        return
    head = " ".join(text.partition("#pragma once")[0].replace("\n// ", " ").split())
    if not (root / path.with_suffix(".cpp")).is_file() and "header alone" not in head:
        yield 1, "source", "no source of the same name, and no word why"


def check_names(path: PurePosixPath, text: str) -> Iterator[tuple[int, str, str]]:
    """A file of C++ tests carries its folder, so that its bare name tells it from all others."""
    if path.suffix == ".cpp" and path.is_relative_to("tests"):
        tests = re.search(r"^TEST(_F|_P)?\(", text, re.MULTILINE)
        if tests and not path.name.startswith(f"{path.parent.name}_"):
            yield 1, "name", f"the name does not begin with {path.parent.name}_"


def check(root: Path) -> list[Violation]:
    """Return all violations below a folder, but for the named exceptions."""
    found = []
    for path in source_files(root):
        text = (root / path).read_text()
        if not text:
            continue
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        for line, rule, what in (
            *check_head(lines),
            *check_sizes(path, lines),
            *check_functions(path, text),
            *check_layers(path, lines),
            *check_private(path, lines),
            *check_source(root, path, text),
            *check_settings(path, lines),
            *check_names(path, text),
        ):
            if (path.as_posix(), rule) not in EXCEPTIONS:
                found.append(Violation(path.as_posix(), line, rule, what))
    return found


def main(arguments: list[str]) -> int:
    """Print what is wrong and return the exit status."""
    root = Path(arguments[0]) if arguments else Path(__file__).parents[2]
    found = check(root)
    for violation in found:
        print(violation)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
