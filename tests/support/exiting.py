# SPDX-License-Identifier: Apache-2.0
"""Programs that end while host functions are pending or running."""

import dataclasses
import os
import re

from child import run_python

PRELUDE = """
import atexit, ctypes, gc, os, random, signal, sys, threading, time

def after_the_library():
    # Registered before the library is imported, so it runs after the library's own handler.
    for call in late_calls:
        call()

late_calls = []
atexit.register(after_the_library)

import hostfns, hostlaunch, waiting
from hostfns import CUhostFn, bare
from hostlaunch import host_launch
from probes import Probe, Tombstone

stream = hostlaunch.Stream(0)
on_embedded = hostlaunch.driver().name == "embedded"
if on_embedded:
    import embedded
    knobs = embedded.knobs()
if hostfns.ENVIRONMENT in os.environ:
    compiled = hostfns.load()
    if on_embedded:
        knobs.report_gil(compiled)  # nothing is expected on stderr

def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())
"""

# What tells a program that the library's exit handler has begun.
WHEN_EXIT_BEGINS = """
ending = threading.Event()
atexit.register(ending.set)  # the last thing before the library's own handler

def when_exit_begins(call):
    # On a thread of its own, once the library's handler has begun: no launch is accepted then.
    def run():
        ending.wait()
        try:
            while True:
                host_launch(stream, int)
                time.sleep(0.001)
        except RuntimeError:
            call()
    threading.Thread(target=run, daemon=True).start()
"""

ENDINGS = {
    "end of the program": ("", 0),
    "sys.exit": ("sys.exit(7)", 7),
    "sys.exit in a function call": ("(lambda: sys.exit(3))()", 3),
}

ANY = -1


def run_exit(code, *, timeout_setting=None, drops=0, stderr="", **kwargs):
    """Run a program after the prelude; HOSTLAUNCH_EXIT_TIMEOUT as given.

    `drops`: how many functions the warning counts, 0 if there is none, ANY if that depends. It is
    checked, and not part of the result's stderr, which is checked against `stderr` unless None.
    """
    env = {} if timeout_setting is None else {"HOSTLAUNCH_EXIT_TIMEOUT": str(timeout_setting)}
    kwargs.setdefault("timeout", 40)
    result = run_python(PRELUDE + code, env=env, stderr=None, **kwargs)
    told, others = _dropped_and_others(result.stderr)
    assert len(told) <= 1, result.stderr
    assert drops == ANY or sum(told) == drops, (drops, result.stderr)
    assert stderr is None or others == stderr, f"unexpected stderr:\n{result.stderr}"
    return dataclasses.replace(result, stderr=others)


def _dropped_and_others(stderr):
    told, others = [], []
    for line in stderr.splitlines(keepends=True):
        found = re.search(r"RuntimeWarning: hostlaunch: (\d+) host function", line)
        told += [int(found[1])] if found else []
        others += [] if found else [line]
    return told, "".join(others)


def seed():
    """Vary the delays from run to run, and tell them in a failure."""
    return os.environ.get("HOSTLAUNCH_TEST_SEED") or str(int.from_bytes(os.urandom(4), "big"))
