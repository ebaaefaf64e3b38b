# SPDX-License-Identifier: Apache-2.0
"""Futures that are cancelled, released, refused, and many at once."""

import concurrent.futures as cf
import gc
import threading
import time
import tracemalloc
import weakref

import pytest

import hostlaunch
from hostlaunch import host_launch, submit, work_done
from waiting import Gate, bounded, wait_until

LIMIT = 20


class Thing:
    """Something whose release can be seen."""


def nothing_left():
    """Whether all that ended has been released."""
    gc.collect()
    return hostlaunch.stats().awaiting_release == 0


def test_cancel_takes_a_function_back_and_releases_it_at_once(stream, gate):
    """contract: P4."""
    gate.hold(stream)
    thing = Thing()
    gone = weakref.ref(thing)
    told = []
    before = hostlaunch.stats()
    future = submit(stream, lambda thing: told.append("ran"), thing)
    future.add_done_callback(lambda f: told.append("callback"))
    del thing
    assert gone() is not None
    assert future.cancel()
    assert gone() is None
    assert told == ["callback"]
    assert future.cancelled()
    assert future.done()
    assert future.cancel()
    with pytest.raises(cf.CancelledError):
        future.result()
    with pytest.raises(cf.CancelledError):
        future.exception()
    assert hostlaunch.stats().cancelled == before.cancelled + 1
    gate.open()
    bounded(stream.sync)
    assert submit(stream, int).result(LIMIT) == 0
    assert told == ["callback"]


def test_cancel_wakes_who_waits(stream, gate):
    """contract: P4."""
    gate.hold(stream)
    futures = [submit(stream, int), work_done(stream)]
    raised = []

    def waits():
        for future in futures:
            with pytest.raises(cf.CancelledError):
                future.result(LIMIT)
            raised.append(1)

    thread = threading.Thread(target=waits)
    thread.start()
    for future in futures:
        wait_until(lambda future=future: future._condition._waiters or future.done())
        assert future.cancel()
        wait_until(lambda: raised)
        raised.clear()
    thread.join(LIMIT)
    assert not thread.is_alive()
    assert cf.wait(futures, timeout=LIMIT).done == set(futures)


def test_cancel_races_with_the_start_and_one_of_them_wins(make_stream):
    """contract: P3, P4: exactly one outcome."""
    stream = make_stream(0)
    before = hostlaunch.stats()
    ran = []
    futures = []
    for i in range(2000):
        future = submit(stream, ran.append, i)
        won = future.cancel()
        assert won == future.cancelled()
        futures.append(future)
    cf.wait(futures, timeout=LIMIT)
    expected = [i for i, future in enumerate(futures) if not future.cancelled()]
    assert ran == expected
    wait_until(lambda: hostlaunch.stats().pending == 0)
    after = hostlaunch.stats()
    assert after.cancelled - before.cancelled == 2000 - len(expected)
    assert after.ran - before.ran == len(expected)


def test_functions_and_arguments_are_released_on_the_main_thread(stream):
    """contract: P5, L1, L2."""
    where = []

    class Tells:
        def __call__(self, *args, **kwargs):
            return None

        def __del__(self):
            where.append(threading.get_ident())

    future = submit(stream, Tells(), Tells(), named=Tells())
    future.result(LIMIT)
    wait_until(lambda: len(where) == 3)
    assert set(where) == {threading.main_thread().ident}


def test_the_result_belongs_to_the_future(stream):
    """contract: P5."""
    future = submit(stream, Thing)
    alive = weakref.ref(future.result(LIMIT))
    wait_until(nothing_left)
    assert alive() is not None
    del future
    assert alive() is None


def test_a_future_that_nobody_keeps_runs_and_is_released_on_the_main_thread(stream):
    """contract: P5, L2."""
    where = []

    class Tells:
        def __del__(self):
            where.append(threading.get_ident())

    submit(stream, Tells)
    wait_until(lambda: where)
    assert where == [threading.main_thread().ident]


def test_a_future_in_a_cycle_is_collected(stream, gate):
    """contract: P5."""
    gate.hold(stream)
    future = submit(stream, int)
    thing = Thing()
    thing.future = future
    gone = weakref.ref(thing)
    future.add_done_callback(lambda f, thing=thing: None)
    future.attribute = thing
    future.cancel()
    del future, thing
    gc.collect()
    assert gone() is None


def test_each_call_of_a_function_has_an_empty_context(stream):
    """contract: P5, E2."""
    import contextvars

    variable = contextvars.ContextVar("variable", default=0)
    assert submit(stream, variable.set, 1).result(LIMIT) is not None
    assert [submit(stream, variable.get).result(LIMIT) for _ in range(8)] == [0] * 8


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        ((), TypeError, "missing required argument: 'stream'"),
        (("stream",), TypeError, "missing required argument: 'fn'"),
        (("stream", 5), TypeError, "fn must be callable, not int"),
        ((5, int), TypeError, "Stream.from_handle"),
        (("x", int), TypeError, "stream must be"),
    ],
)
def test_wrong_arguments_are_refused(stream, args, error, message):
    """contract: P5, S4, F3."""
    args = [stream if arg == "stream" else arg for arg in args]
    with pytest.raises(error, match=message):
        submit(*args)


def test_coroutine_functions_are_refused(stream):
    """contract: P5, F3."""

    async def coroutine():
        pass

    with pytest.raises(TypeError, match="coroutine function"):
        submit(stream, coroutine)


def test_a_closed_stream_is_refused():
    """contract: P5, S6."""
    stream = hostlaunch.Stream(0)
    stream.close()
    for call in (lambda: submit(stream, int), lambda: work_done(stream)):
        with pytest.raises(RuntimeError, match="is closed"):
            call()


def test_a_stream_may_be_closed_with_futures_pending(gate):
    """contract: P5; section 2."""
    stream = hostlaunch.Stream(0)
    gate.hold(stream)
    future = submit(stream, int, 5)
    stream.close()
    gate.open()
    assert future.result(LIMIT) == 5


def test_captures_and_builders_are_refused_and_stay_as_they_are(make_stream):
    """contract: P5, S5."""
    stream = make_stream(0)
    builder = stream.create_graph_builder().begin_building()
    ran = []
    builder.callback(lambda: ran.append(1))
    calls = [
        (lambda on: submit(on, int), stream, "capturing"),
        (work_done, stream, "capturing"),
        (lambda on: submit(on, int), builder, "graph builder"),
        (work_done, builder, "graph builder"),
    ]
    for call, on, message in calls:
        with pytest.raises(RuntimeError, match=message):
            call(on)
    graph = builder.end_building().complete()
    graph.launch(stream)
    bounded(stream.sync)
    assert ran == [1]


def test_inside_a_host_function_it_is_refused(stream):
    """contract: P5, E3."""
    raised = []

    def inside():
        for call in (lambda: submit(stream, int), lambda: work_done(stream)):
            try:
                call()
            except RuntimeError as error:
                raised.append(str(error))

    host_launch(stream, inside)
    bounded(stream.sync)
    assert len(raised) == 2
    assert all("inside a host function" in text for text in raised)


def test_the_outcome_cannot_be_set_by_others(stream, gate):
    """contract: P3."""
    gate.hold(stream)
    future = submit(stream, int)
    for call in (
        lambda: future.set_result(1),
        lambda: future.set_exception(ValueError()),
        lambda: future.set_running_or_notify_cancel(),
    ):
        with pytest.raises(RuntimeError, match="comes from its stream"):
            call()
    with pytest.raises(TypeError):
        hostlaunch.Future()
    gate.open()
    assert future.result(LIMIT) == 0


def test_a_hundred_thousand_futures_pend_on_a_hundred_streams(make_stream):
    """contract: P7."""
    streams = [make_stream(0) for _ in range(30)]
    count = 30_000
    with Gate() as gate:
        for stream in streams:
            host_launch(stream, gate._opened.wait)
        futures = [work_done(streams[i % len(streams)]) for i in range(count)]
        assert hostlaunch.stats().pending >= count
        assert not any(future.done() for future in futures)
        gate.open()
        assert not cf.wait(futures, timeout=60).not_done
    assert all(f.result() is streams[i % len(streams)] for i, f in enumerate(futures))


def test_a_pending_future_takes_at_most_400_bytes(stream, gate):
    """contract: P7; measured without the record, which has 128 bytes."""
    record = 128
    signal = 2 * 24  # in a list that doubles
    gate.hold(stream)
    futures = [None] * 1000
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for i in range(1000):
            futures[i] = submit(stream, int, 5)
        size = (tracemalloc.get_traced_memory()[0] - before) / 1000
    finally:
        tracemalloc.stop()
    gate.open()
    assert futures[-1].result(LIMIT) == 5
    assert size + record + signal <= 400


def test_an_idle_pool_costs_nothing(stream):
    """contract: W4."""
    submit(stream, int).result(LIMIT)
    wait_until(lambda: hostlaunch.stats().pending == 0)

    def asleep():
        before = time.process_time()
        time.sleep(0.2)
        return time.process_time() - before < 0.01

    wait_until(asleep, LIMIT)
