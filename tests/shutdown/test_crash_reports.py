# SPDX-License-Identifier: Apache-2.0
"""A crash inside a function is reported as on any other thread."""

import signal

import pytest

from child import run_python

PROGRAM = """
import ctypes, faulthandler, signal, hostlaunch
faulthandler.enable()
stream = hostlaunch.Stream()

def crash():
    {crash}

hostlaunch.host_launch(stream, crash)
stream.sync()
"""


# contract: L7
@pytest.mark.parametrize(
    ("crash", "ended_by"),
    [
        ("ctypes.string_at(8)", signal.SIGSEGV),
        ("getattr(ctypes.CDLL(None), 'raise')(signal.SIGFPE)", signal.SIGFPE),
        ("ctypes.CDLL(None).abort()", signal.SIGABRT),
    ],
)
def test_faulthandler_reports_a_crash_in_a_function(crash, ended_by):
    ended = run_python(PROGRAM.format(crash=crash), returncode=-ended_by, stderr=None)
    assert "Fatal Python error" in ended.stderr
    assert "in crash" in ended.stderr
