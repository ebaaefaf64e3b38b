# SPDX-License-Identifier: Apache-2.0
"""The sources keep the layout, and a source that does not is noticed."""

from pathlib import Path

import check_layout
import pytest

ROOT = Path(__file__).parents[2]
HEAD = "// SPDX-License-Identifier: Apache-2.0\n// A file.\n"


def test_all_sources_keep_the_layout():
    assert [str(violation) for violation in check_layout.check(ROOT)] == []


def test_every_exception_is_needed(monkeypatch):
    needed = {(v.path, v.rule) for v in check_layout_without_exceptions(monkeypatch)}
    assert set(check_layout.EXCEPTIONS) <= needed


def check_layout_without_exceptions(monkeypatch):
    monkeypatch.setattr(check_layout, "EXCEPTIONS", {})
    return check_layout.check(ROOT)


def broken_rules(root, path, text):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return {(violation.path, violation.rule) for violation in check_layout.check(root)}


def function_of(lines):
    return HEAD + "void f(int n) {\n" + "    g(n);\n" * (lines - 2) + "}\n"


@pytest.mark.parametrize(
    ("path", "text", "rule"),
    [
        ("src/core/a.cpp", "// A file.\n", "head"),
        ("src/core/a.cpp", "// SPDX-License-Identifier: Apache-2.0\nint a;\n", "head"),
        ("scripts/a.sh", "#!/bin/sh\n# Does something.\n", "head"),
        ("include/hostlaunch/a.hpp", HEAD + "\n" * 199, "lines"),
        ("src/core/a.cpp", HEAD + "\n" * 399, "lines"),
        ("src/core/a.cpp", HEAD + "/" * 101 + "\n", "width"),
        ("bench/a.h", HEAD + "/" * 101 + "\n", "width"),
        ("bench/a.c", function_of(61), "function"),
        ("src/core/a.cpp", function_of(61), "function"),
        ("tests/core/a.cpp", HEAD + "TEST(a, b) {}\n", "name"),
        (
            "tests/core/core_a.cpp",
            function_of(61).replace("void f(int n)", "TEST_F(a, b)"),
            "function",
        ),
        (
            "python/a.py",
            '# SPDX-License-Identifier: Apache-2.0\n"""A."""\ndef f():\n' + "    g()\n" * 60,
            "function",
        ),
        ("include/hostlaunch/a.hpp", HEAD + '#include "core/record.hpp"\n', "layer"),
        ("include/hostlaunch/a.hpp", HEAD + "#include <cuda.h>\n", "layer"),
        ("src/embedded/a.cpp", HEAD + '#include "core/record.hpp"\n', "layer"),
        ("src/embedded/a.cpp", HEAD + '#include "driver/driver.hpp"\n', "layer"),
        ("src/embedded/a.hpp", HEAD + '#include "embedded/engine/driver.hpp"\n', "layer"),
        ("src/embedded/engine/a.cpp", HEAD + '#include "embedded/control.hpp"\n', "layer"),
        ("src/embedded/engine/a.cpp", HEAD + '#include "embedded/entry_points.hpp"\n', "layer"),
        ("src/embedded/controls/a.cpp", HEAD + '#include "embedded/entries/door.hpp"\n', "layer"),
        ("src/embedded/entries/a.cpp", HEAD + '#include "driver/driver.hpp"\n', "layer"),
        ("src/driver/a.cpp", HEAD + '#include "core/record.hpp"\n', "layer"),
        ("src/core/a.cpp", HEAD + 'auto* text = std::getenv("A");\n', "settings"),
        ("src/driver/a.cpp", HEAD + 'auto* text = secure_getenv("A");\n', "settings"),
        (
            "python/a.py",
            '# SPDX-License-Identifier: Apache-2.0\n"""A."""\nimport os\nprint(os.environ)\n',
            "settings",
        ),
        ("src/driver/a.cpp", HEAD + '#include "hostlaunch/stream.hpp"\n', "layer"),
        ("src/core/a.cpp", HEAD + '#include "api/convert.hpp"\n', "layer"),
        ("src/core/a.cpp", HEAD + '#include "diagnosis/watchdog.hpp"\n', "layer"),
        ("src/diagnosis/a.cpp", HEAD + '#include "core/graphs/graph.hpp"\n', "layer"),
        ("src/core/a.h", HEAD + '#include "api/convert.hpp"\n', "layer"),
        ("src/core/a.cpp", HEAD + '#include "embedded/control.hpp"\n', "layer"),
        ("src/core/process/a.cpp", HEAD + '#include "core/task/record.hpp"\n', "layer"),
        ("src/core/task/a.hpp", HEAD + '#include "core/objects/event.hpp"\n', "layer"),
        ("src/core/task/a.cpp", HEAD + '#include "driver/driver.hpp"\n', "layer"),
        ("src/core/objects/a.cpp", HEAD + '#include "core/routes/route.hpp"\n', "layer"),
        ("src/core/routes/a.cpp", HEAD + '#include "core/graphs/graph.hpp"\n', "layer"),
        ("src/core/graphs/a.cpp", HEAD + '#include "core/lifecycle.hpp"\n', "layer"),
        ("python/src/tasks/a.cpp", HEAD + '#include "driver/abi.hpp"\n', "layer"),
        ("src/core/a.cpp", HEAD + "#  include <Python.h>\n", "layer"),
        ("src/api/a.cpp", HEAD + '#include "embedded/control.hpp"\n', "layer"),
        ("python/src/a.cpp", HEAD + '#include "api/convert.hpp"\n', "layer"),
        ("python/src/a.cpp", HEAD + '#include "beside.hpp"\n', "layer"),
        ("python/src/cpython/a.cpp", HEAD + '#include "arguments/errors.hpp"\n', "layer"),
        ("python/src/cpython/a.cpp", HEAD + '#include "core/process.hpp"\n', "layer"),
        ("python/src/arguments/a.cpp", HEAD + '#include "classes/holder.hpp"\n', "layer"),
        ("python/src/arguments/a.cpp", HEAD + '#include "tasks/payload.hpp"\n', "layer"),
        ("python/src/tasks/a.cpp", HEAD + '#include "classes/holder.hpp"\n', "layer"),
        ("python/src/tasks/a.cpp", HEAD + "auto a = _PyType_Lookup;\n", "private"),
        ("python/src/classes/a.cpp", HEAD + "#ifdef Py_GIL_DISABLED\n", "private"),
        ("python/src/a.cpp", HEAD + "#if PY_VERSION_HEX >= 1\n", "private"),
        ("python/src/tasks/a.hpp", HEAD, "source"),
    ],
)
def test_a_source_that_breaks_a_rule_is_noticed(tmp_path, path, text, rule):
    assert broken_rules(tmp_path, path, text) == {(path, rule)}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/core/a.cpp", function_of(60)),
        ("src/core/a.cpp", HEAD + "namespace a {\n" + "int f(int);\n" * 100 + "}\n"),
        (
            "src/core/a.cpp",
            HEAD + "class a : b(c) {\n  public:\n" + "    int f();\n" * 100 + "};\n",
        ),
        ("src/core/a.cpp", HEAD + 'const char* a = "{";  // {\nvoid f() {}\n' + "int i;\n" * 70),
        ("src/core/a.cpp", HEAD + '#include "driver/driver.hpp"\n#include "core/b.hpp"\n'),
        ("include/hostlaunch/a.hpp", HEAD + '#include <memory>\n#include "hostlaunch/b.hpp"\n'),
        ("src/embedded/controls/a.cpp", HEAD + '#include "embedded/engine/driver.hpp"\n'),
        ("src/embedded/entries/a.cpp", HEAD + '#include "embedded/controls/knobs.hpp"\n'),
        ("python/src/cpython/a.cpp", HEAD + "auto a = _PyType_Lookup;\n"),
        ("python/src/cpython/a.hpp", HEAD + "// Why: a header\n// alone.\n#pragma once\n"),
        ("python/src/a.cpp", HEAD + '#include "tasks/a.hpp"\n#include "core/b.hpp"\n'),
        ("src/a.txt", "x" * 200),
    ],
)
def test_a_source_that_keeps_the_rules_is_not_blamed(tmp_path, path, text):
    assert broken_rules(tmp_path, path, text) == set()
