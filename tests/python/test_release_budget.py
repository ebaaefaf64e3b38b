# SPDX-License-Identifier: Apache-2.0
"""Finalizers that take their time do not take the main thread's, nor its Ctrl-C."""

import itertools
import time

import pytest

from child import run_python
from exiting import run_exit
from hostlaunch import host_launch
from waiting import Gate


class Slow:
    """A callable whose finalizer takes two milliseconds at least."""

    def __init__(self, deaths):
        self.deaths = deaths

    def __call__(self):
        """Run as a host function."""

    def __del__(self):
        time.sleep(0.002)
        self.deaths.append(None)


def launch_behind_a_gate(stream, deaths, count):
    """Have `count` finalizers due at one moment."""
    gate = Gate()
    gate.hold(stream)
    for _ in range(count):
        host_launch(stream, Slow(deaths))
    return gate


def test_the_main_thread_gets_on_between_finalizers(stream):
    """contract: L6. Three take more than the 5 ms of a stretch."""
    deaths, seen = [], [0]
    launch_behind_a_gate(stream, deaths, 60).open()
    limit = time.monotonic() + 20
    while len(deaths) < 60 and time.monotonic() < limit:
        if len(deaths) != seen[-1]:
            seen.append(len(deaths))
    seen.append(len(deaths))
    assert seen[-1] == 60
    assert max(after - before for before, after in itertools.pairwise(seen)) <= 3


def test_launches_keep_to_the_budget(stream):
    """contract: L6. They release too, on the main thread."""
    deaths = []
    launch_behind_a_gate(stream, deaths, 60).open()
    limit = time.monotonic() + 20
    most = 0
    while len(deaths) < 60 and time.monotonic() < limit:
        before = len(deaths)
        host_launch(stream, int)
        most = max(most, len(deaths) - before)
    assert len(deaths) == 60
    assert most <= 6  # a pending call may come right behind a stretch that was none


def test_a_sync_releases_all(stream):
    """contract: L6. Without budget."""
    deaths = []
    launch_behind_a_gate(stream, deaths, 20).open()
    stream.sync()
    assert len(deaths) == 20


def test_finalizers_that_wait_do_not_nest(stream):
    """contract: L6, L1. Each has the next one to release; on one stack they would overflow it."""

    class Waits:
        def __call__(self):
            pass

        def __del__(self):
            stream.sync()
            deaths.append(None)

    deaths = []
    gate = Gate()
    gate.hold(stream)
    for _ in range(20_000):
        host_launch(stream, Waits())
    gate.open()
    stream.sync()
    assert len(deaths) == 20_000


INTERRUPTED = """
import os, signal, sys, time
import hostlaunch
from waiting import Gate, wait_until
signal.signal(signal.SIGINT, signal.default_int_handler)
stream, deaths = hostlaunch.Stream(0), []

class Payload:
    def __call__(self):
        pass

    def __del__(self):
        try:
            if len(deaths) == 2:
                os.kill(os.getpid(), signal.SIGINT)
                sum(range(1000))  # where the KeyboardInterrupt is raised
        finally:
            deaths.append(None)

gate = Gate()
gate.hold(stream)
for _ in range(10):
    hostlaunch.host_launch(stream, Payload())
hook = sys.unraisablehook
gate.open()
try:
    WAIT
    limit = time.monotonic() + 20
    while time.monotonic() < limit:
        pass
    print("lost")
except KeyboardInterrupt:
    print("raised", len(deaths))
wait_until(lambda: len(deaths) == 10)
print("all", sys.unraisablehook is hook)
"""


@pytest.mark.parametrize("wait", ["stream.sync()", "pass"])
def test_an_interrupt_in_a_finalizer_reaches_the_program(wait):
    """contract: L6. As soon as the finalizer has returned; the others are released later."""
    result = run_python(INTERRUPTED.replace("WAIT", wait))
    assert result.lines == ["raised 3", "all True"]


def test_an_interrupt_ends_the_releases_at_exit():
    """contract: L6, X1. Without budget, but not without Ctrl-C."""
    result = run_exit(
        """
signal.signal(signal.SIGINT, signal.default_int_handler)
deaths = []
class Payload:
    def __call__(self):
        pass
    def __del__(self):
        deaths.append(None)
        say("released")
        if len(deaths) == 3:
            os.kill(os.getpid(), signal.SIGINT)
gate = waiting.Gate()
gate.hold(stream)
for _ in range(10):
    host_launch(stream, Payload())
atexit.register(gate.open)
sys.exit(4)
""",
        returncode=4,
    )
    assert result.lines == ["released"] * 3
