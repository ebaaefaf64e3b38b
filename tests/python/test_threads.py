# SPDX-License-Identifier: Apache-2.0
"""Any number of threads and streams at once; what callbacks see of their thread."""

import gc
import sys
import threading

import pytest

import embedded as embedded_driver
import hostlaunch
import probes
import waiting
from child import repeats
from hostfns import CUhostFn
from hostlaunch import host_launch


def test_many_threads_launch_on_one_stream(stream):
    """contract: X4, O1. The launches of each thread run in its order."""
    ran = [[] for _ in range(8)]

    def launch(index):
        for number in range(500):
            host_launch(stream, lambda number=number: ran[index].append(number))

    waiting.run_threads(*(lambda index=index: launch(index) for index in range(8)))
    waiting.sync(stream)
    assert ran == [list(range(500))] * 8


@pytest.mark.parametrize(
    "mode",
    [
        embedded_driver.THREADS_PER_CONTEXT,
        embedded_driver.THREADS_PER_STREAM,
        embedded_driver.THREADS_FRESH,
    ],
)
def test_many_threads_launch_on_streams_of_their_own(embedded, make_stream, mode):
    """contract: X4, L1. With one callback thread, many, or a new one each time."""
    embedded.set_threads(mode)
    streams = [make_stream(index % 2) for index in range(16)]
    deaths, runs = [], []

    def launch(stream):
        for number in range(60):
            host_launch(stream, probes.Probe(deaths, runs))
            if number % 20 == 0:
                stream.sync()
        stream.sync()

    launchers = []

    def body(stream):
        launchers.append(threading.get_ident())
        launch(stream)

    waiting.run_threads(*(lambda stream=stream: body(stream) for stream in streams))
    probes.wait_for_deaths(deaths, 16 * 60, launchers=launchers)
    assert len(runs) == 16 * 60


def test_functions_of_many_threads_enter_together(embedded, make_stream):
    """contract: X4. Sixteen callback threads meet inside their functions, again and again."""
    embedded.set_threads(embedded_driver.THREADS_PER_STREAM)
    streams = [make_stream(0) for _ in range(16)]
    barrier = threading.Barrier(16)
    for _ in range(5):
        for stream in streams:
            host_launch(stream, lambda: barrier.wait(20))
        waiting.sync(*streams)
    assert not barrier.broken


def test_objects_are_made_used_and_dropped_on_many_threads(hostfns):
    """contract: X4."""

    def use():
        for _ in range(30):
            with hostlaunch.Stream(0) as stream:
                host_launch(stream, int)
                host_launch(stream, hostfns.count, user_data=b"x")
                event = stream.record()
                stream.wait(event)
                event.sync()
            hostlaunch.Buffer(64).close()
            gc.collect(0)
            hostlaunch.stats()

    waiting.run_threads(*[use] * 6)
    waiting.wait_until(waiting.is_quiet)
    assert hostfns.counter() == 180


def test_reference_counts_stay_exact(stream):
    """contract: X4, L1."""

    def shared():
        pass

    before = sys.getrefcount(shared)

    def launch():
        for _ in range(300):
            host_launch(stream, shared)

    waiting.run_threads(*[launch] * 8)
    waiting.sync(stream)
    waiting.wait_until(lambda: hostlaunch.stats().awaiting_release == 0)
    waiting.wait_until(lambda: sys.getrefcount(shared) == before)


def test_functions_may_import_and_ask_for_their_thread(stream):
    """contract: O2. Threads that the interpreter did not start do not pile up."""
    names = []

    def look():
        import colorsys  # noqa: F401

        names.append(threading.current_thread().name)

    before = threading.active_count()
    for _ in range(2000):
        host_launch(stream, look)
    waiting.sync(stream)
    assert len(names) == 2000
    assert threading.active_count() <= before + 2


def test_threads_that_the_driver_has_ended_are_forgotten(embedded, stream):
    """contract: X4. Up to Python 3.12 one entry stays for each identity, which are used again."""
    embedded.set_threads(embedded_driver.THREADS_FRESH)
    before = threading.active_count()
    for _ in range(1000):
        host_launch(stream, threading.current_thread)
    waiting.sync(stream)
    assert threading.active_count() <= before + 100


def test_functions_may_start_threads_and_wait_for_them(stream):
    """contract: F1. Such a thread is none of the driver's and may use the library."""
    ran = []

    def start():
        helper.start()
        helper.join(20)

    def body():
        ran.append(hostlaunch.stats().running)
        host_launch(stream, lambda: ran.append("later"))

    helper = threading.Thread(target=body)
    host_launch(stream, start)
    waiting.sync(stream)
    waiting.sync(stream)  # the first may have begun before the helper's launch
    assert ran == [1, "later"]


@pytest.mark.resident_memory
def test_callback_threads_that_come_and_go_do_not_grow_memory(embedded, stream):
    """contract: L5, X4. A thread state is kept per thread, and given back when the thread ends."""
    embedded.set_threads(embedded_driver.THREADS_FRESH)

    def rounds(count):
        for number in range(count):
            host_launch(stream, lambda: threading.get_ident())
            if number % 100 == 99:
                stream.sync()
        waiting.sync(stream)

    rounds(500)
    before = probes.resident_kib()
    rounds(3000)
    assert probes.resident_kib() - before < 16_000  # 3,000 thread states would be 48 MB and more


def fail():
    raise ValueError("mine")


@pytest.mark.resident_memory
def test_memory_does_not_depend_on_the_number_of_launches(stream, hostfns, monkeypatch):
    """contract: L5. At most 1,000 outstanding, and a main thread that runs Python."""
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    kinds = (
        lambda: host_launch(stream, int),
        lambda: host_launch(stream, lambda: [None]),  # a result of its own
        lambda: host_launch(stream, fail),
        lambda: host_launch(stream, CUhostFn(lambda pointer: None), user_data=bytes(100)),
        lambda: host_launch(stream, hostfns.count, user_data=bytes(200)),
    )

    def rounds(count):
        for number in range(count):
            kinds[number % len(kinds)]()
            if number % 500 == 499:
                stream.sync()
        waiting.sync(stream)
        waiting.wait_until(lambda: waiting.is_quiet() and not hostlaunch.stats().awaiting_release)
        gc.collect()
        return sys.getallocatedblocks(), probes.resident_kib()

    blocks, kib = rounds(10_000)
    blocks_after, kib_after = rounds(repeats(200_000))
    assert blocks_after - blocks < 1000
    # 16 bytes of each launch of one kind would be 640 KiB.
    assert kib_after - kib < (512 if embedded_driver.in_use() else 4096)
