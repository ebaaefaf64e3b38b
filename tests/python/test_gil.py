# SPDX-License-Identifier: Apache-2.0
"""No driver call is made with the GIL or with a lock of the library."""

import ctypes
import gc
import queue
import sys
import threading
import time

import pytest

import embedded as embedded_driver
import hostlaunch
import probes
import waiting
from hostfns import CUhostFn
from hostlaunch import host_launch


def test_the_check_itself_sees_a_call_that_holds_the_gil(embedded, cu, stream):
    """contract: G1 (that the suite's check works)."""
    assert embedded.violations() == 0
    cu.library.cuStreamQuery(ctypes.c_void_p(stream.handle))
    assert embedded.violations() == 0
    cu.with_gil.cuStreamQuery(ctypes.c_void_p(stream.handle))
    assert embedded.violations() == 1
    assert embedded.first_violation() == b"cuStreamQuery"
    embedded.reset()


class Things:
    """One of each object, and the operations that enter the driver.

    To be made on the thread that lets go of them: without a GIL an object dies on the thread that
    made it, though another one drops the last reference.
    """

    def __init__(self, hostfns):
        self.stream = hostlaunch.Stream(0)
        self.other = hostlaunch.Stream(0)
        self.event = self.stream.record()
        self.device = hostlaunch.Buffer(64)
        self.pinned = hostlaunch.Buffer(64, kind="pinned")
        self.compiled = hostfns.count

    def drop_stream(self):
        """Let a finalizer do it."""
        self.other = None
        gc.collect()

    def drop_event(self):
        """Let a finalizer do it."""
        self.event = None
        gc.collect()

    def close(self):
        """Close what is left."""
        for thing in (self.stream, self.other, self.event, self.device, self.pinned):
            if thing is not None:
                thing.close()


OPERATIONS = {
    "cuLaunchHostFunc": lambda t: host_launch(t.stream, int),
    "cuStreamIsCapturing": lambda t: host_launch(t.stream, int),
    "cuEventCreate": lambda t: host_launch(t.stream, t.compiled, user_data=b"x"),
    "cuEventRecord": lambda t: t.stream.record(t.event),
    "cuStreamWaitEvent": lambda t: t.other.wait(t.event),
    "cuEventQuery": lambda t: t.event.is_done,
    "cuEventSynchronize": lambda t: t.event.sync(),
    "cuStreamSynchronize": lambda t: t.stream.sync(),
    "cuStreamCreateWithPriority": lambda t: hostlaunch.Stream(0).close(),
    "cuStreamDestroy": lambda t: t.other.close(),
    "cuStreamDestroy in a finalizer": Things.drop_stream,
    "cuEventDestroy": lambda t: t.event.close(),
    "cuEventDestroy in a finalizer": Things.drop_event,
    "cuMemAlloc": lambda t: hostlaunch.Buffer(64).close(),
    "cuMemHostAlloc": lambda t: hostlaunch.Buffer(64, kind="pinned").close(),
    "cuMemFree": lambda t: t.device.close(),
    "cuMemFreeHost": lambda t: t.pinned.close(),
    "cuMemcpyAsync": lambda t: t.device.copy_to(t.pinned, stream=t.stream),
    "cuMemsetD8Async": lambda t: t.device.fill(1, stream=t.stream),
    "cuStreamGetCtx": lambda t: hostlaunch.Stream.from_handle(t.stream.handle).record().close(),
}


def prepare(name, hostfns):
    """Start a thread that has made its things, and does the operation once `go` is set."""
    made, go = queue.SimpleQueue(), threading.Event()

    def body():
        things = Things(hostfns)
        made.put(things)
        if go.wait(20):
            OPERATIONS[name](things)

    worker = threading.Thread(target=body, daemon=True)
    worker.start()
    return worker, made.get(timeout=20), go


@pytest.mark.parametrize("name", OPERATIONS)
def test_other_threads_run_python_while_a_call_blocks_in_the_driver(
    embedded, hostfns, stream, name
):
    """contract: G1. Python goes on, a callback runs, and locks of the library are free."""
    entry = name.split()[0]
    worker, things, go = prepare(name, hostfns)
    ran = threading.Event()
    with embedded.manual():
        host_launch(stream, ran.set)
        with embedded.hold(entry) as wait_held:
            go.set()
            wait_held()
            embedded.step(1, 10_000)
            assert ran.wait(10)
            waiting.bounded(hostlaunch.stats)
            assert worker.is_alive()
    worker.join(20)
    assert not worker.is_alive()
    waiting.sync(things.stream)
    things.close()


@pytest.mark.parametrize(
    "entry", ["cuStreamDestroy", "cuEventDestroy", "cuMemFree", "cuEventQuery", "cuMemHostAlloc"]
)
def test_other_calls_work_while_one_blocks_in_the_driver(embedded, hostfns, stream, entry):
    """contract: G1. No lock of the library is held across a driver call."""
    worker, things, go = prepare(entry, hostfns)
    ran = []
    with embedded.hold(entry) as wait_held:
        go.set()
        wait_held()
        for _ in range(100):
            host_launch(stream, lambda: ran.append(1))
        if not entry.startswith("cuEvent"):  # what tells that it has run is held as well
            host_launch(stream, hostfns.count, user_data=b"x")
        waiting.sync(stream)
        assert worker.is_alive()
    worker.join(20)
    assert len(ran) == 100
    things.close()


def test_the_last_reference_to_an_object_may_go_while_functions_run(embedded, stream, gate):
    """contract: G1. The driver blocks the destruction until the function has ended."""
    gate.hold(stream)
    with embedded.hold("cuStreamDestroy") as streams, embedded.hold("cuEventDestroy") as events:
        first = threading.Thread(target=lambda: hostlaunch.Stream(0) and None, daemon=True)
        second = threading.Thread(target=lambda: stream.record() and None, daemon=True)
        first.start()
        second.start()
        streams()
        events()
        gate.open()
        waiting.sync(stream)
    first.join(20)
    second.join(20)
    assert not first.is_alive()
    assert not second.is_alive()


@pytest.mark.parametrize("kind", ["device", "pinned"])
def test_memory_may_be_freed_by_a_finalizer_while_functions_run(embedded, stream, gate, kind):
    """contract: G1. A free waits until the function has ended, which needs the GIL."""
    memory = []
    made, go = threading.Event(), threading.Event()

    def body():
        memory.append(hostlaunch.Buffer(64, kind=kind))  # here, as `Things` are
        made.set()
        if go.wait(20):
            memory.clear()

    frees = threading.Thread(target=body, daemon=True)
    frees.start()
    assert made.wait(20)
    before = embedded.live("device_memory") + embedded.live("host_memory")
    gate.hold(stream)
    go.set()
    waiting.wait_until(lambda: memory == [])
    assert frees.is_alive()
    gate.open()
    frees.join(20)
    assert not frees.is_alive()
    assert embedded.live("device_memory") + embedded.live("host_memory") == before - 1
    waiting.sync(stream)


@pytest.mark.parametrize(
    ("mode", "depth"),
    [
        (embedded_driver.LAUNCH_WAITS_RUNNING, 0),
        (embedded_driver.LAUNCH_WAITS_DONE, 0),
        (embedded_driver.LAUNCH_BOUNDED, 2),
    ],
)
@pytest.mark.parametrize("thunk", [False, True])
def test_a_launch_that_blocks_until_a_function_has_run_finishes(
    embedded, stream, mode, depth, thunk
):
    """contract: G1. The function needs the GIL while the launch waits for it in the driver."""
    embedded.set_launch(mode, depth)
    ran = []

    def body(*_):
        for _ in range(10):
            time.sleep(0.0001)  # gives the GIL up and takes it again
        ran.append(1)

    fn = CUhostFn(body) if thunk else body
    for _ in range(20):
        host_launch(stream, fn)
    waiting.sync(stream)
    assert len(ran) == 20


def test_a_blocked_launch_in_the_main_thread_lets_other_threads_run(embedded, stream):
    """contract: G1."""
    ticks = []

    def tick_and_release(wait_held):
        wait_held()
        for _ in range(1000):
            ticks.append(1)

    with embedded.hold("cuLaunchHostFunc") as wait_held:

        def body():
            tick_and_release(wait_held)
            embedded.release("cuLaunchHostFunc")

        ticker = threading.Thread(target=body, daemon=True)
        ticker.start()
        host_launch(stream, int)
    ticker.join(20)
    assert len(ticks) == 1000
    waiting.sync(stream)


def test_waiting_for_the_stream_lets_its_functions_run(stream):
    """contract: G1. Each way to wait, on the main thread itself."""
    ran = []
    for wait in (stream.sync, lambda: stream.record().sync()):
        host_launch(stream, lambda: ran.append(1))
        wait()
    assert len(ran) == 2


def test_a_busy_main_thread_does_not_starve_functions(stream):
    """contract: F1. They get the GIL by the switch interval, with no call that releases it."""
    ran = []
    for _ in range(5):
        host_launch(stream, lambda: ran.append(1))
    deadline = time.monotonic() + 20
    while len(ran) < 5 and time.monotonic() < deadline:
        pass
    assert len(ran) == 5
    waiting.sync(stream)


def test_release_list_pending_calls_and_gil_switches_make_no_cycle(make_stream):
    """contract: G2. Launching, draining and switching threads as fast as possible."""
    deaths = []
    streams = [make_stream(0) for _ in range(4)]
    stop = time.monotonic() + 1.5
    counts = [0] * 4

    def launch(index):
        while time.monotonic() < stop:
            for _ in range(50):
                host_launch(streams[index], probes.Probe(deaths))
                counts[index] += 1
            streams[index].sync()

    def churn():
        while time.monotonic() < stop:
            hostlaunch.Stream(0).record().close()
            gc.collect(0)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        workers = [threading.Thread(target=launch, args=(i,), daemon=True) for i in range(4)]
        workers.append(threading.Thread(target=churn, daemon=True))
        for worker in workers:
            worker.start()
        while any(worker.is_alive() for worker in workers):
            host_launch(streams[0], int)  # the main thread drains
            assert time.monotonic() < stop + 60
    finally:
        sys.setswitchinterval(before)
    waiting.sync(*streams)
    launchers = [worker.ident for worker in workers]
    probes.wait_for_deaths(deaths, sum(counts), timeout=20, launchers=launchers)
