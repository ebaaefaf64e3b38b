# SPDX-License-Identifier: Apache-2.0
"""Without a GIL nothing keeps threads apart; with one, the same has to hold."""

import ctypes
import threading
import time

import pytest

import waiting
from child import repeats, run_python
from hostlaunch import host_launch
from probes import Probe, wait_for_deaths
from python_build import FREE_THREADED


@pytest.mark.skipif(not FREE_THREADED, reason="a build with a GIL")
def test_neither_the_import_nor_a_launch_turns_the_gil_on():
    """contract: X4. A warning would be on stderr."""
    result = run_python(
        """
        import sys
        import hostlaunch
        print(sys._is_gil_enabled())
        ran = []
        with hostlaunch.Stream(0) as stream:
            hostlaunch.host_launch(stream, lambda: ran.append(sys._is_gil_enabled()))
            builder = stream.create_graph_builder().begin_building()
            builder.callback(lambda: ran.append(sys._is_gil_enabled()))
            graph = builder.end_building().complete()
            graph.launch(stream)
            stream.sync()
        print(ran, sys._is_gil_enabled())
        """,
        env={"PYTHON_GIL": None},
    )
    assert result.lines == ["False", "[False, False] False"]


def test_what_an_idle_thread_launched_dies_without_it(stream):
    """contract: L1. The launching thread made the function, and blocks before it is released."""
    deaths = []
    launched, done = threading.Event(), threading.Event()

    def body():
        for _ in range(10):
            host_launch(stream, Probe(deaths))
        launched.set()
        done.wait(60)

    worker = threading.Thread(target=body)
    worker.start()
    try:
        assert launched.wait(20)
        waiting.sync(stream)
        wait_for_deaths(deaths, 10)
    finally:
        done.set()
        worker.join(20)


def test_results_die_while_the_drivers_thread_is_idle(stream):
    """contract: L2. They were made on that thread, which does not run again before they end."""
    deaths = []
    for _ in range(10):
        host_launch(stream, lambda: Probe(deaths))
        waiting.sync(stream)
    wait_for_deaths(deaths, 10)


def hide_pending_calls(hostfns):
    """Take from the main thread, without a GIL, the mark by which it notices pending calls.

    A thread does that when it runs a call that any thread may run (CPython 3.13's ceval_gil.c).
    """
    if FREE_THREADED:
        add = ctypes.pythonapi._PyEval_AddPendingCall
        add.argtypes = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int
        interpreter = ctypes.pythonapi.PyInterpreterState_Main
        interpreter.restype = ctypes.c_void_p
        add(interpreter(), hostfns.address("nothing"), None, 0)
    for _ in range(1000):
        pass


def test_a_pending_call_that_another_thread_hides_is_asked_for_again(stream, hostfns):
    """contract: L5. However often that happens."""
    deaths = []

    def work():
        host_launch(stream, Probe(deaths))
        stream.sync()
        # Long enough for several requests, all of which are hidden.
        hides_until = time.monotonic() + 0.5
        while time.monotonic() < hides_until:
            hide_pending_calls(hostfns)
        assert deaths == []

    hostfns.while_main_is_in_c(work)
    wait_for_deaths(deaths, 1)


def test_a_module_may_be_replaced_while_a_launch_looks_into_it():
    """contract: X4. What it borrows from sys.modules could be freed under it."""
    rounds = repeats(5000)
    result = run_python(f"""
        import _ctypes
        import functools
        import sys
        import threading
        import types
        import hostlaunch

        function_pointer = _ctypes.CFuncPtr
        partial = functools.partial(int)
        stream = hostlaunch.Stream(0)
        done = threading.Event()
        barrier = threading.Barrier(5)
        launched = []

        def replace():
            barrier.wait(20)
            while not done.is_set():
                sys.modules["_ctypes"] = types.SimpleNamespace(CFuncPtr=function_pointer)

        def launch():
            barrier.wait(20)
            for _ in range({rounds}):
                hostlaunch.host_launch(stream, partial)
                launched.append(1)

        sys.setswitchinterval(1e-5)
        replacing = threading.Thread(target=replace)
        launchers = [threading.Thread(target=launch) for _ in range(4)]
        for thread in [replacing, *launchers]:
            thread.start()
        for thread in launchers:
            thread.join()
        done.set()
        replacing.join()
        stream.sync()
        print(len(launched))
    """)
    assert result.lines == [str(4 * rounds)]
