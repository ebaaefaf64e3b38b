# SPDX-License-Identifier: Apache-2.0
"""Bounded waits: nothing in the tests sleeps to get lucky or waits without a limit."""

import faulthandler
import sys
import threading
import time

import hostlaunch


def wait_until(predicate, timeout=5.0):
    """Run bytecode on the calling thread until the predicate holds, and return its value."""
    deadline = time.monotonic() + timeout
    while not (value := predicate()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not true after {timeout} s; {hostlaunch.stats()}")
        time.sleep(0.001)  # retakes the GIL: pending calls run, on Python 3.12 and older too
    return value


def bounded(fn, *args, timeout=20.0, **kwargs):
    """Call fn on a thread of its own; a call that hangs fails the test."""
    returned = []
    raised = []

    def body():
        try:
            returned.append(fn(*args, **kwargs))
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    thread.join(timeout)
    if thread.is_alive():
        faulthandler.dump_traceback(file=sys.__stderr__, all_threads=True)
        raise AssertionError(f"{fn!r} did not return within {timeout} s")
    if raised:
        raise raised[0]
    return returned[0]


def sync(*streams, timeout=20.0):
    """Wait for all work of the streams, on another thread."""
    for stream in streams:
        bounded(stream.sync, timeout=timeout)


def run_threads(*bodies, timeout=60.0):
    """Run the functions at the same time, each on its thread; the first exception is raised."""
    raised = []
    barrier = threading.Barrier(len(bodies))

    def run(body):
        try:
            barrier.wait(timeout)
            body()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(body,), daemon=True) for body in bodies]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + timeout
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    if any(thread.is_alive() for thread in threads):
        faulthandler.dump_traceback(file=sys.__stderr__, all_threads=True)
        raise AssertionError(f"threads still run after {timeout} s")
    if raised:
        raise raised[0]


class Gate:
    """A host function that holds its stream until the gate is opened."""

    def __init__(self):
        self.entered = threading.Event()
        self._opened = threading.Event()

    def __call__(self):
        """Run on the driver's thread."""
        self.entered.set()
        if not self._opened.wait(60):
            raise AssertionError("the gate was never opened")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.open()

    def open(self):
        """Let the stream go on."""
        self._opened.set()

    def hold(self, stream):
        """Occupy the stream: returns once the gate runs."""
        hostlaunch.host_launch(stream, self)
        if not self.entered.wait(20):
            raise AssertionError("the gate never ran")


def is_quiet():
    """Whether no launch is outstanding; then the counters add up."""
    stats = hostlaunch.stats()
    return stats.pending == 0 and stats.running == 0


def no_graph_functions():
    """Whether every host function of a graph has been released."""
    stats = hostlaunch.stats()
    return stats.graph_callbacks == 0 and stats.awaiting_release == 0


def adds_up(stats):
    """Whether every accepted launch is counted exactly once."""
    ended = stats.ran + stats.raised + stats.abandoned + stats.dropped + stats.cancelled
    return stats.accepted == stats.pending + stats.running + ended
