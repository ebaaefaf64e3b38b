# SPDX-License-Identifier: Apache-2.0
"""Order and completion: when a host function runs, where, and what waits for it."""

import gc
import threading
from contextlib import closing

import pytest

import hostlaunch
import waiting
from hostlaunch import host_launch


def test_functions_of_one_stream_run_in_the_order_of_the_calls(stream):
    """contract: O1."""
    ran = []
    for number in range(500):
        host_launch(stream, lambda number=number: ran.append(number))
    waiting.sync(stream)
    assert ran == list(range(500))


def test_each_function_runs_exactly_once(stream, make_stream):
    """contract: O1."""
    counts = [0] * 300
    streams = [stream, make_stream(0), make_stream(0)]

    def count(number):
        counts[number] += 1

    for number in range(300):
        host_launch(streams[number % 3], lambda number=number: count(number))
    waiting.sync(*streams)
    assert counts == [1] * 300


def test_the_function_sees_what_earlier_work_of_the_stream_wrote(stream):
    """contract: O1."""
    with closing(hostlaunch.Buffer(256, kind="pinned")) as pinned:
        view = memoryview(pinned).cast("B")
        seen = []
        for value in range(1, 50):
            pinned.fill(value, stream=stream)
            host_launch(stream, lambda: seen.append((view[0], view[255])))
        waiting.sync(stream)
        view.release()
    assert seen == [(value, value) for value in range(1, 50)]


def test_later_work_of_the_stream_waits_until_the_function_returns(stream):
    """contract: O1. The function ends well after it began; the copy behind it sees its write."""
    source = hostlaunch.Buffer(64, kind="pinned")
    device = hostlaunch.Buffer(64)
    target = hostlaunch.Buffer(64, kind="pinned")
    with closing(source), closing(device), closing(target):
        written, read = memoryview(source).cast("B"), memoryview(target).cast("B")
        started, finish = threading.Event(), threading.Event()

        def write():
            started.set()
            finish.wait(20)
            written[0] = 77

        host_launch(stream, write)
        device.copy_from(source, stream=stream)  # a copy from host to host would wait for write
        device.copy_to(target, stream=stream)
        event = stream.record()
        assert started.wait(20)
        assert not event.is_done
        finish.set()
        waiting.bounded(event.sync)
        assert read[0] == 77
        written.release()
        read.release()


def test_a_function_waits_for_an_event_of_another_stream(stream, make_stream):
    """contract: O1."""
    other = make_stream(0)
    ran = []
    host_launch(other, lambda: ran.append("first"))
    stream.wait(other.record())
    host_launch(stream, lambda: ran.append("second"))
    other.wait(stream)
    host_launch(other, lambda: ran.append("third"))
    waiting.sync(other)
    assert ran == ["first", "second", "third"]


@pytest.mark.parametrize("from_main", [True, False])
def test_the_function_never_runs_on_the_thread_of_the_caller(stream, from_main):
    """contract: O2."""
    idents = []

    def launch():
        done = threading.Event()

        def fn():
            idents.append(threading.get_ident())
            done.set()

        host_launch(stream, fn)
        assert done.wait(20)
        return threading.get_ident()  # alive while fn ran: no identifier is reused

    caller = launch() if from_main else waiting.bounded(launch)
    assert caller not in idents
    assert threading.main_thread().ident not in idents


def test_the_call_returns_while_the_stream_is_blocked(stream, gate):
    """contract: O3."""
    gate.hold(stream)
    ran = []
    for _ in range(1000):
        waiting_for_nobody = host_launch(stream, lambda: ran.append(None))
    assert waiting_for_nobody is None
    assert ran == []
    gate.open()
    waiting.sync(stream)
    assert len(ran) == 1000


def test_completion_is_seen_by_sync_and_by_an_event(stream, gate):
    """contract: O3. That the call returned does not mean that the function has run."""
    gate.hold(stream)
    ran = []
    host_launch(stream, lambda: ran.append(None))
    event = stream.record()
    assert not event.is_done
    assert ran == []
    gate.open()
    waiting.bounded(event.sync)
    assert event.is_done
    assert ran == [None]
    waiting.sync(stream)


def test_a_bound_method_keeps_its_object_alive_until_it_has_run(stream, gate):
    """contract: O1, L1."""

    class Owner:
        def __init__(self):
            self.value = [5]

        def method(self):
            seen.extend(self.value)

    seen = []
    gate.hold(stream)
    host_launch(stream, Owner().method)
    gc.collect()
    gate.open()
    waiting.sync(stream)
    assert seen == [5]


def test_functions_run_after_their_stream_was_closed(make_stream, gate):
    """contract: O1, section 2: closing a stream with functions pending is allowed."""
    closed = make_stream(0)
    ran = []
    gate.hold(closed)
    for number in range(100):
        host_launch(closed, lambda number=number: ran.append(number))
    waiting.bounded(closed.close)
    assert closed.is_closed
    assert ran == []
    gate.open()
    waiting.wait_until(lambda: len(ran) == 100)
    assert ran == list(range(100))


def test_functions_run_after_their_stream_was_collected(gate):
    """contract: O1, section 2."""
    dropped = hostlaunch.Stream(0)
    ran = []
    gate.hold(dropped)
    host_launch(dropped, lambda: ran.append(1))
    del dropped
    gc.collect()
    gate.open()
    waiting.wait_until(lambda: ran == [1])


def test_a_thousand_short_rounds_lose_nothing(stream):
    """contract: O1, O3."""
    ran = []
    for number in range(1000):
        host_launch(stream, lambda number=number: ran.append(number))
        stream.sync()
        assert ran[-1] == number
    assert len(ran) == 1000
