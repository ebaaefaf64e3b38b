# SPDX-License-Identifier: Apache-2.0
"""When and where payloads are released: after the run, on the main thread, once."""

import gc
import sys
import threading
import weakref

import pytest

import hostlaunch
import waiting
from failing import no_collection
from hostlaunch import host_launch
from probes import Probe, Tombstone, wait_for_deaths
from python_build import FREE_THREADED


def test_a_payload_is_released_on_the_main_thread_once(stream):
    """contract: L1."""
    deaths, runs = [], []
    for _ in range(50):
        host_launch(stream, Probe(deaths, runs))
    waiting.sync(stream)
    wait_for_deaths(deaths, 50)
    assert len(runs) == 50
    assert threading.main_thread().ident not in runs


def test_a_payload_lives_until_its_function_has_run(stream, gate):
    """contract: L1."""
    deaths = []
    gate.hold(stream)
    host_launch(stream, Probe(deaths))
    gc.collect()
    waiting.bounded(stream.record)  # calls of the library do not release it early
    assert deaths == []
    gate.open()
    waiting.sync(stream)
    wait_for_deaths(deaths, 1)


def test_the_callers_own_references_are_left_alone(stream):
    """contract: L1."""
    deaths = []
    probe = Probe(deaths)
    for _ in range(10):
        host_launch(stream, probe)
    waiting.sync(stream)
    waiting.wait_until(lambda: hostlaunch.stats().awaiting_release == 0)
    assert deaths == []
    assert len(probe.runs) == 10
    reference = weakref.ref(probe)
    del probe
    assert reference() is None


def test_nothing_is_released_on_another_thread(stream, hostfns):
    """contract: L1. A worker launches and waits while the main thread is blocked."""
    deaths = []

    def work():
        host_launch(stream, Probe(deaths))
        stream.sync()
        host_launch(stream, lambda: None)
        stream.sync()
        gc.collect()
        assert deaths == []

    hostfns.while_main_is_in_c(work)
    wait_for_deaths(deaths, 1)


@pytest.mark.parametrize("enter", ["sync", "host_launch"])
def test_a_call_on_the_main_thread_releases_what_has_run(stream, hostfns, enter):
    """contract: L1, L5. The queue of pending calls is full, so only the call itself can do it."""
    deaths = []

    def work():
        assert hostfns.library.hf_fill_pending() > 0
        for _ in range(40):
            host_launch(stream, Probe(deaths))
        stream.sync()
        assert deaths == []

    hostfns.while_main_is_in_c(work)
    if enter == "sync":
        stream.sync()
    else:
        host_launch(stream, int)
    assert len(deaths) == 40
    assert set(deaths) == {threading.main_thread().ident}
    waiting.sync(stream)


def test_a_full_queue_of_pending_calls_loses_nothing(stream, hostfns, gate):
    """contract: L5."""
    deaths = []

    def work():
        gate.hold(stream)
        for _ in range(200):
            host_launch(stream, Probe(deaths))
        assert hostfns.library.hf_fill_pending() > 0
        gate.open()
        stream.sync()

    hostfns.while_main_is_in_c(work)
    wait_for_deaths(deaths, 200)
    assert hostlaunch.stats().awaiting_release == 0


def test_a_main_thread_in_c_code_delays_releases_and_loses_none(stream, hostfns):
    """contract: L5."""
    deaths = []

    def work():
        for _ in range(20_000):
            host_launch(stream, Probe(deaths))
        stream.sync()
        assert deaths == []

    hostfns.while_main_is_in_c(work)
    wait_for_deaths(deaths, 20_000, timeout=20)


def test_what_the_function_returns_is_released_on_the_main_thread(stream):
    """contract: L2."""
    deaths = []
    for _ in range(20):
        host_launch(stream, lambda: Tombstone(deaths))
    waiting.sync(stream)
    wait_for_deaths(deaths, 20)


def test_the_exception_is_released_on_the_main_thread(stream, unraisable):
    """contract: L2."""
    deaths, deaths_below = [], []

    class Failure(Exception, Tombstone):
        def __init__(self):
            Exception.__init__(self, "mine")
            Tombstone.__init__(self, deaths)
            self.attached = Tombstone(deaths_below)

    def fail():
        raise Failure

    for _ in range(20):
        host_launch(stream, fail)
    waiting.sync(stream)
    wait_for_deaths(deaths, 20)
    assert unraisable.types == [Failure] * 20
    if FREE_THREADED:  # what it refers to dies where it was made, when that thread runs again
        host_launch(stream, gc.collect)
        waiting.sync(stream)
        assert len(deaths_below) == 20
    else:
        wait_for_deaths(deaths_below, 20)


def test_a_release_may_call_the_library(stream):
    """contract: L2. A finalizer on the main thread frees and launches."""
    ran = []

    class Owner:
        def __init__(self):
            self.buffer = hostlaunch.Buffer(64)

        def __call__(self):
            ran.append("first")

        def __del__(self):
            self.buffer.close()
            host_launch(stream, lambda: ran.append("from the finalizer"))

    for _ in range(10):
        host_launch(stream, Owner())
    waiting.sync(stream)
    waiting.wait_until(lambda: len(ran) == 20)
    waiting.sync(stream)


def test_a_finalizer_that_raises_is_reported_and_stops_nothing(stream, unraisable):
    """contract: L1, L2."""
    deaths = []

    class Fails(Probe):
        def __del__(self):
            super().__del__()
            raise ValueError("finalizer")

    for _ in range(5):
        host_launch(stream, Fails(deaths))
    waiting.sync(stream)
    wait_for_deaths(deaths, 5)
    assert unraisable.types == [ValueError] * 5


def test_the_current_exception_survives_a_release(stream):
    """contract: L1. Releases happen between bytecodes, so also while an exception is handled."""
    deaths = []
    for _ in range(200):
        try:
            raise KeyError("handled")
        except KeyError as error:
            host_launch(stream, Probe(deaths))
            stream.sync()
            assert error.args == ("handled",)
    wait_for_deaths(deaths, 200)


def test_objects_that_die_inside_a_function_make_no_driver_call_there(stream, cu, embedded):
    """contract: L2. A cycle is collected by the driver's thread."""

    class Cycle:
        def __init__(self):
            self.me = self
            self.stream = hostlaunch.Stream(0)
            self.event = self.stream.record()
            self.buffers = [hostlaunch.Buffer(64, kind=kind) for kind in ("device", "pinned")]

    kinds = ("streams", "events", "device_memory", "host_memory")
    waiting.sync(stream)
    before = {kind: embedded.live(kind) for kind in kinds}
    gc.collect()
    gc.disable()
    try:
        Cycle()
        assert all(embedded.live(kind) > before[kind] for kind in kinds)
        with embedded.log() as calls:
            host_launch(stream, gc.collect)
            waiting.sync(stream)
    finally:
        gc.enable()
    inside = [call.name for call in calls if call.in_host_function]
    assert [name for name in inside if "Destroy" in name or "Free" in name] == []
    waiting.wait_until(lambda: {kind: embedded.live(kind) for kind in kinds} == before)


@pytest.mark.parametrize("kind", ["stream", "event", "device", "pinned"])
def test_an_object_closed_inside_a_function_is_destroyed_on_the_main_thread(stream, embedded, kind):
    """contract: L2, E3."""
    make, entry = {
        "stream": (lambda: hostlaunch.Stream(0), "cuStreamDestroy"),
        "event": (stream.record, "cuEventDestroy"),
        "device": (lambda: hostlaunch.Buffer(64), "cuMemFree"),
        "pinned": (lambda: hostlaunch.Buffer(64, kind="pinned"), "cuMemFreeHost"),
    }[kind]
    made = make()
    with no_collection(), embedded.log() as calls:
        host_launch(stream, made.close)
        waiting.sync(stream)
        assert made.is_closed
        host_launch(stream, int)
        waiting.sync(stream)
    [destroyed] = [call for call in calls if "Destroy" in call.name or "Free" in call.name]
    assert destroyed.name == entry
    assert destroyed.thread == threading.main_thread().native_id
    assert not destroyed.in_host_function


def test_ten_thousand_functions_with_collections_all_along(stream):
    """contract: L1, L2, X4."""
    deaths = []
    done = threading.Event()
    host_launch(stream, lambda: None)

    def launch():
        for number in range(10_000):
            host_launch(stream, Probe(deaths))
            if number % 500 == 0:
                stream.sync()
        stream.sync()
        done.set()

    worker = threading.Thread(target=launch)
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)  # a busy main thread costs each function this wait for the GIL
    try:
        worker.start()
        # Bounded: each collection keeps the GIL from all others, long where much is imported.
        for _ in range(200):
            gc.collect()
            if done.is_set():
                break
        assert done.wait(45)
    finally:
        sys.setswitchinterval(usual)
    worker.join(30)
    wait_for_deaths(deaths, 10_000, timeout=20, launchers=[worker.ident])
