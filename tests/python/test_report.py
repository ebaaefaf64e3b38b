# SPDX-License-Identifier: Apache-2.0
"""What ``python -m hostlaunch`` prints, and its exit status; each in a process of its own."""

import json
import os
import platform

import pytest

import hostlaunch
from child import run_python


def report(*arguments, returncode=0, before="", **env):
    """Run the report with arguments in its command line, after some code."""
    return run_python(
        f"""
        import runpy, sys
        {before}
        sys.argv[1:] = {list(arguments)!r}
        runpy.run_module("hostlaunch", run_name="__main__", alter_sys=True)
        """,
        env=env,
        returncode=returncode,
        stderr=None if returncode == 2 else "",
    )


def test_it_tells_what_a_bug_report_needs():
    """contract: V6."""
    result = report(
        HOSTLAUNCH_DRIVER="embedded",
        HOSTLAUNCH_EXIT_TIMEOUT="2.5",
        HOSTLAUNCH_EMBEDDED_DEVICES=None,
    )
    text = result.stdout
    assert f"hostlaunch  {hostlaunch.__version__}, built by " in text
    assert f" {platform.python_version()}" in text
    assert "driver      embedded, CUDA " in text
    assert "libhostlaunch_embedded.so" in text
    assert "device 0    " in text
    assert "HOSTLAUNCH_EXIT_TIMEOUT=2.5\n" in text
    assert "HOSTLAUNCH_EMBEDDED_DEVICES=1 (default)" in text
    assert result.lines.count("self-test") == 1
    tests = result.lines[result.lines.index("self-test") + 1 :]
    assert len(tests) == 5
    assert all(line.startswith("    ok ") for line in tests)


def test_it_tells_the_same_to_machines():
    """contract: V6."""
    told = json.loads(
        report("--json", HOSTLAUNCH_DRIVER="embedded", HOSTLAUNCH_EMBEDDED_DEVICES="3").stdout
    )
    assert told["passed"] is True
    assert told["hostlaunch"]["version"] == hostlaunch.__version__
    assert told["driver"]["name"] == "embedded"
    assert [device["ordinal"] for device in told["devices"]] == [0, 1, 2]
    assert told["devices"][2]["stream_memory_operations_64_bit"] is True
    assert told["settings"]["HOSTLAUNCH_EMBEDDED_DEVICES"] == {"value": "3", "set": True}
    assert list(told["self_test"].values()) == [""] * 5


def test_why_the_embedded_driver_was_taken_is_told(fake_driver):
    """contract: V6, D2. On a machine without a GPU it is no failure, and no warning."""
    env = {"LD_LIBRARY_PATH": str(fake_driver), "FAKE_CUINIT": "100", "HOSTLAUNCH_DRIVER": "auto"}
    told = json.loads(report("--json", **env).stdout)
    assert "finds no CUDA device" in told["driver"]["fallback_reason"]
    assert "finds no CUDA device" in report(**env).stdout


@pytest.mark.parametrize("setting", ["/no/such/driver.so", "embeded"])
def test_a_driver_that_cannot_be_used_is_a_failure_with_what_to_do(setting):
    """contract: V6."""
    result = report(returncode=1, HOSTLAUNCH_DRIVER=setting)
    assert setting in result.stdout
    assert "    not run" in result.lines
    assert "Set HOSTLAUNCH_DRIVER=embedded" in result.lines[-1]
    told = json.loads(report("--json", returncode=1, HOSTLAUNCH_DRIVER=setting).stdout)
    assert setting in told["driver"]["error"]
    assert (told["passed"], told["self_test"], told["devices"]) == (False, {}, [])


def test_a_test_that_fails_is_a_failure():
    """contract: V6. Whatever it raises; the others are run."""
    before = "import hostlaunch._self_test as t; t._releases = t._TESTS['more'] = lambda s: 1 / 0"
    result = report(returncode=1, before=before, HOSTLAUNCH_DRIVER="embedded")
    assert "    failed  more: ZeroDivisionError: division by zero" in result.lines
    assert result.stdout.count("    ok ") == 5
    assert "Try it again with HOSTLAUNCH_DRIVER=embedded" in result.lines[-1]


def test_a_stream_that_hangs_is_a_failure():
    """contract: V6. The report comes all the same."""
    before = (
        "import threading, hostlaunch._self_test as t; t._LIMIT = 0.2; "
        "gate = threading.Event(); t._TESTS.clear(); "
        "t._TESTS['hangs'] = lambda s: (t.host_launch(s, lambda: gate.wait(30)), t._wait(s)); "
        "import threading; threading.Timer(2, gate.set).start()"
    )
    result = report(returncode=1, before=before, HOSTLAUNCH_DRIVER="embedded")
    assert "failed  hangs: the stream did not get there within 0.2 s" in result.stdout


def test_a_path_that_is_no_text_is_told(tmp_path):
    """contract: V6, D2."""
    path = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.so")
    result = report(returncode=1, HOSTLAUNCH_DRIVER=path)
    assert "caf\\udce9.so" in result.stdout
    told = json.loads(report("--json", returncode=1, HOSTLAUNCH_DRIVER=path).stdout)
    assert told["settings"]["HOSTLAUNCH_DRIVER"]["value"] == path


@pytest.mark.parametrize("arguments", [["--jsn"], ["json"], ["--json=yes"]])
def test_a_mistyped_argument_is_refused(arguments):
    """contract: V6."""
    result = report(*arguments, returncode=2)
    assert result.stdout == ""
    assert "usage: python -m hostlaunch" in result.stderr
