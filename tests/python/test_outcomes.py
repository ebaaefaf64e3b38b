# SPDX-License-Identifier: Apache-2.0
"""One outcome for every launch, and the numbers that tell it."""

import asyncio
import threading
import time

import pytest

import hostlaunch
import waiting
from hostfns import CUhostFn
from hostlaunch import host_launch
from probes import Probe

FIELDS = (
    *("accepted", "pending", "running", "ran", "raised", "abandoned", "dropped"),
    *("cancelled", "awaiting_release", "oldest_pending_ms"),
    *("graph_callbacks", "graph_ran", "graph_raised"),
)


def difference(before):
    """What changed since: a dict of the counters that moved."""
    after = hostlaunch.stats()
    assert waiting.adds_up(after)
    counts = [name for name in FIELDS if name != "oldest_pending_ms"]
    moved = {name: getattr(after, name) - getattr(before, name) for name in counts}
    return {name: change for name, change in moved.items() if change}


def test_the_numbers_have_names(stream):
    """contract: section 5."""
    stats = hostlaunch.stats()
    assert stats._fields == FIELDS
    assert all(isinstance(value, int) and value >= 0 for value in stats)


def test_the_age_of_the_oldest_pending_launch_is_told(stream, gate):
    """contract: section 5. It grows while launches are pending, and is gone with them."""
    gate.hold(stream)
    assert hostlaunch.stats().oldest_pending_ms == 0  # the gate itself runs
    host_launch(stream, int)
    first = waiting.wait_until(lambda: hostlaunch.stats().oldest_pending_ms)
    host_launch(stream, int)
    waiting.wait_until(lambda: hostlaunch.stats().oldest_pending_ms >= first + 20)
    assert first < 10_000
    gate.open()
    waiting.sync(stream)
    assert hostlaunch.stats().oldest_pending_ms == 0


def test_the_age_starts_anew_after_a_long_time_without_launches(stream, gate):
    """contract: section 5. The clock stands still while nothing is pending."""
    began = time.monotonic()
    waiting.wait_until(lambda: time.monotonic() - began > 1.5)
    gate.hold(stream)
    host_launch(stream, int)
    waiting.wait_until(lambda: hostlaunch.stats().oldest_pending_ms)
    assert hostlaunch.stats().oldest_pending_ms < 1000
    gate.open()
    waiting.sync(stream)


def test_pending_running_and_ran_are_told_apart(stream, gate):
    """contract: section 5."""
    before = hostlaunch.stats()
    gate.hold(stream)
    assert difference(before) == {"accepted": 1, "running": 1}
    for _ in range(5):
        host_launch(stream, int)
    assert difference(before) == {"accepted": 6, "running": 1, "pending": 5}
    gate.open()
    stream.sync()
    assert difference(before) == {"accepted": 6, "ran": 6}


def test_raised_is_told_apart(stream, unraisable):
    """contract: section 5. The exception of a thunk stays inside ctypes."""
    before = hostlaunch.stats()
    host_launch(stream, lambda: 1 / 0)
    host_launch(stream, CUhostFn(lambda pointer: 1 / 0))
    host_launch(stream, int)
    stream.sync()
    assert difference(before) == {"accepted": 3, "ran": 2, "raised": 1}


def test_refused_launches_are_not_counted(stream, embedded):
    """contract: section 5, L3."""
    before = hostlaunch.stats()
    embedded.fail("cuLaunchHostFunc", 2)
    with pytest.raises(hostlaunch.CUDAError):
        host_launch(stream, int)
    with pytest.raises(TypeError):
        host_launch(stream, 3)
    assert difference(before) == {}


def test_what_awaits_release_is_told(stream, hostfns):
    """contract: section 5, L1."""
    before = hostlaunch.stats()
    seen = []

    def work():
        for _ in range(10):
            host_launch(stream, int)
        stream.sync()
        seen.append(difference(before))

    hostfns.while_main_is_in_c(work)
    assert seen == [{"accepted": 10, "ran": 10, "awaiting_release": 10}]
    waiting.wait_until(lambda: hostlaunch.stats().awaiting_release == 0)
    assert difference(before) == {"accepted": 10, "ran": 10}


def test_functions_that_are_stepped_end_one_by_one(stream, embedded):
    """contract: section 5, O1."""
    before = hostlaunch.stats()
    with embedded.manual():
        for _ in range(4):
            host_launch(stream, int)
        for done in range(1, 5):
            assert embedded.step(1, 10_000) == 1
            waiting.wait_until(lambda done=done: hostlaunch.stats().ran == before.ran + done)
            assert hostlaunch.stats().pending == 4 - done
    waiting.sync(stream)


def test_the_numbers_may_be_read_at_any_time(make_stream, hostfns):
    """contract: section 5, X4. Counters never go backwards."""
    stop = threading.Event()

    def read():
        last = hostlaunch.stats()
        while not stop.is_set():
            now = hostlaunch.stats()
            for name in ("accepted", "ran", "raised", "abandoned", "dropped"):
                assert getattr(now, name) >= getattr(last, name)
            last = now

    def launch():
        stream = make_stream(0)
        for _ in range(500):
            host_launch(stream, int)
            host_launch(stream, hostfns.count, user_data=b"x")
        stream.sync()
        stop.set()

    waiting.run_threads(read, launch)


def test_an_idle_event_loop_releases_when_it_wakes(stream, hostfns):
    """contract: L1, L5. Nothing is lost while the loop sits in its wait."""
    deaths = []

    async def main():
        worker = asyncio.to_thread(work)
        await worker
        for _ in range(500):
            if len(deaths) == 30:
                return
            await asyncio.sleep(0.01)

    def work():
        for _ in range(30):
            host_launch(stream, Probe(deaths))
        stream.sync()

    asyncio.run(main())
    assert len(deaths) == 30
