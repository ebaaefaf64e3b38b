# SPDX-License-Identifier: Apache-2.0
"""Programs that end while host functions are pending or running."""

import os

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

RESOURCE_WARNINGS = ("-W", "always::ResourceWarning")


def run_exit(code, *, timeout_setting=None, **kwargs):
    """Run a program after the prelude; HOSTLAUNCH_EXIT_TIMEOUT as given."""
    env = {} if timeout_setting is None else {"HOSTLAUNCH_EXIT_TIMEOUT": str(timeout_setting)}
    kwargs.setdefault("timeout", 40)
    return run_python(PRELUDE + code, env=env, **kwargs)


def dropped_in_warnings(result):
    """Give the ResourceWarning lines of the library on stderr."""
    return [line for line in result.stderr.splitlines() if "ResourceWarning" in line]


def seed():
    """Vary the delays from run to run, and tell them in a failure."""
    return os.environ.get("HOSTLAUNCH_TEST_SEED") or str(int.from_bytes(os.urandom(4), "big"))
