# SPDX-License-Identifier: Apache-2.0
"""submit and work_done: order, outcomes, cancelling, and what concurrent.futures does with them."""

import concurrent.futures as cf
import ctypes
import functools
import logging
import sys
import threading

import pytest

import hostlaunch
from hostlaunch import host_launch, submit, work_done
from waiting import Gate, bounded, run_threads, wait_until

LIMIT = 20


def test_a_function_starts_once_earlier_work_of_the_stream_has_completed(stream, gate):
    """contract: P1."""
    gate.hold(stream)
    order = []
    host_launch(stream, lambda: order.append("earlier"))
    future = submit(stream, order.append, "fn")
    assert not future.done()
    assert order == []
    gate.open()
    assert future.result(LIMIT) is None
    assert order == ["earlier", "fn"]


def test_functions_of_one_stream_start_in_stream_order(stream, gate):
    """contract: P1. Each waits until all before it have started, which a pool of threads allows."""
    gate.hold(stream)
    changed, started = threading.Condition(), []

    def start(i):
        with changed:
            in_order = changed.wait_for(lambda: len(started) == i, LIMIT)
            started.append(i)
            changed.notify_all()
        return in_order

    futures = [submit(stream, start, i) for i in range(1000)]
    gate.open()
    assert all(future.result(2 * LIMIT) for future in futures)


def test_the_stream_does_not_wait_for_the_function(stream):
    """contract: P1."""
    release = threading.Event()
    future = submit(stream, release.wait, LIMIT)
    bounded(stream.sync)
    assert not future.done()
    release.set()
    assert future.result(LIMIT) is True


def test_functions_that_take_long_overlap(stream):
    """contract: P1."""
    barrier = threading.Barrier(3)
    futures = [submit(stream, barrier.wait, LIMIT) for _ in range(3)]
    assert sorted(future.result(LIMIT) for future in futures) == [0, 1, 2]


def test_more_functions_than_threads_all_run(stream):
    """contract: P1, P7."""
    release = threading.Event()
    futures = [submit(stream, release.wait, LIMIT) for _ in range(20)]
    release.set()
    assert all(future.result(LIMIT) for future in futures)


def test_arguments_are_passed_on(stream):
    """contract: P1."""
    assert submit(stream, dict, [("a", 1)], b=2).result(LIMIT) == {"a": 1, "b": 2}
    assert submit(stream, lambda *a, **k: (a, k), 1, stream=2, fn=3).result(LIMIT) == (
        (1,),
        {"stream": 2, "fn": 3},
    )


def test_any_callable_is_taken(stream):
    """contract: P5."""
    assert submit(stream, functools.partial(int, "7")).result(LIMIT) == 7
    assert submit(stream, [3].pop).result(LIMIT) == 3
    absolute = ctypes.CDLL(None).abs
    assert submit(stream, absolute, -4).result(LIMIT) == 4


def test_the_function_runs_on_a_named_thread_of_the_pool(stream):
    """contract: P1."""

    def where():
        with open(f"/proc/self/task/{threading.get_native_id()}/comm") as comm:
            return comm.read().strip()

    assert submit(stream, where).result(LIMIT).startswith("hostlaunch-")


def test_the_context_of_the_stream_is_current_while_the_function_runs(two_devices, cu, make_stream):
    """contract: P1."""
    streams = [make_stream(0), make_stream(1)]
    contexts = [cu.primary_context(0), cu.primary_context(1)]
    futures = [submit(streams[i % 2], cu.current_context) for i in range(10)]
    assert [future.result(LIMIT) for future in futures] == contexts * 5
    # A function may change it: the next one finds its own.
    submit(streams[0], cu.set_current, contexts[1]).result(LIMIT)
    assert submit(streams[0], cu.current_context).result(LIMIT) == contexts[0]


def test_the_function_may_call_the_library_and_wait(stream, make_stream):
    """contract: P2, P6. No thread and no lock of the driver is held while it runs."""
    other = make_stream(0)

    def work():
        ran = []
        host_launch(other, lambda: ran.append(1))
        other.sync()
        buffer = hostlaunch.Buffer(64)
        buffer.fill(1, stream=other)
        stream.sync()
        return ran, submit(other, int).result(LIMIT)

    assert submit(stream, work).result(LIMIT) == ([1], 0)


def test_objects_that_die_on_a_pools_thread_are_destroyed_elsewhere(stream, embedded):
    """contract: P2, L2."""
    owns = [hostlaunch.Stream(0)]
    with embedded.log() as calls:
        before = embedded.live("streams")
        thread = submit(stream, lambda: owns.clear() or threading.get_native_id()).result(LIMIT)
        wait_until(lambda: embedded.live("streams") == before - 1)
    destroyed = [call for call in calls if call.name == "cuStreamDestroy"]
    assert [call.thread == thread for call in destroyed] == [False]


def test_what_the_function_raises_is_the_outcome(stream):
    """contract: P3, E1."""
    future = submit(stream, int, "x")
    assert isinstance(future.exception(LIMIT), ValueError)
    with pytest.raises(ValueError, match="invalid literal"):
        future.result(LIMIT)
    for error in (SystemExit(3), KeyboardInterrupt(), StopIteration(5)):

        def raises(error=error):
            raise error

        assert submit(stream, raises).exception(LIMIT) is error


def test_work_done_gives_the_stream_back(stream, gate):
    """contract: P1; section 7."""

    class Foreign:
        def __cuda_stream__(self):
            return (0, stream.handle)

    foreign = Foreign()
    gate.hold(stream)
    futures = [work_done(stream), work_done(foreign)]
    assert not any(future.done() for future in futures)
    gate.open()
    assert futures[0].result(LIMIT) is stream
    assert futures[1].result(LIMIT) is foreign


def test_a_future_is_one_of_concurrent_futures(stream, gate):
    """contract: P3."""
    gate.hold(stream)
    future = submit(stream, sum, [1, 2])
    assert isinstance(future, hostlaunch.Future)
    assert isinstance(future, cf.Future)
    assert not future.done()
    assert not future.running()
    assert not future.cancelled()
    assert "state=pending" in repr(future)
    with pytest.raises(TimeoutError):
        future.result(0.01)
    with pytest.raises(TimeoutError):
        future.exception(timeout=0.01)
    gate.open()
    assert future.result(timeout=LIMIT) == 3
    assert future.done()
    assert future.exception() is None
    assert "state=finished returned int" in repr(future)


def test_a_running_future_says_so(stream):
    """contract: P3, P4."""
    release, entered = threading.Event(), threading.Event()
    future = submit(stream, lambda: entered.set() or release.wait(LIMIT))
    assert entered.wait(LIMIT)
    assert future.running()
    assert not future.cancel()
    release.set()
    assert future.result(LIMIT) is True
    assert not future.running()
    assert not future.cancel()


def test_wait_and_as_completed_take_them(make_stream):
    """contract: P3."""
    streams = [make_stream(0) for _ in range(4)]
    with Gate() as gate:
        for stream in streams:
            host_launch(stream, gate._opened.wait)
        futures = [submit(streams[i % 4], int, i) for i in range(40)]
        done, pending = cf.wait(futures, timeout=0.01)
        assert not done
        assert pending == set(futures)
        gate.open()
        first = cf.wait(futures, timeout=LIMIT, return_when=cf.FIRST_COMPLETED)
        assert first.done
        assert cf.wait(futures, timeout=LIMIT) == (set(futures), set())
    assert {f.result() for f in cf.as_completed(futures, timeout=LIMIT)} == set(range(40))


def test_waiting_and_ending_race_without_a_loss(make_stream):
    """contract: P3: nobody waits for ever."""
    stream = make_stream(0)
    for _ in range(300):
        futures = [submit(stream, int) for _ in range(3)]
        assert not cf.wait(futures, timeout=LIMIT).not_done
        futures = [submit(stream, int) for _ in range(3)]
        assert len(list(cf.as_completed(futures, timeout=LIMIT))) == 3
        assert submit(stream, int).result(LIMIT) == 0


def test_many_threads_submit_and_wait(make_stream):
    """contract: P3, X4."""

    def body():
        stream = make_stream(0)
        for i in range(200):
            assert submit(stream, int, i).result(LIMIT) == i

    run_threads(*[body] * 4)


def test_callbacks_run_once_in_order_and_late_ones_at_once(stream, gate):
    """contract: P3."""
    gate.hold(stream)
    future = submit(stream, int)
    told = []
    for i in range(3):
        future.add_done_callback(lambda f, i=i: told.append((i, f is future, f.result())))
    gate.open()
    future.result(LIMIT)
    wait_until(lambda: len(told) == 3)
    assert told == [(0, True, 0), (1, True, 0), (2, True, 0)]
    future.add_done_callback(lambda f: told.append("late"))
    assert told[3:] == ["late"]


def test_a_callback_that_raises_is_logged_and_the_next_one_runs(stream, gate, caplog):
    """contract: P3."""
    gate.hold(stream)
    future = submit(stream, int)
    told = []
    future.add_done_callback(lambda f: 1 / 0)
    future.add_done_callback(told.append)
    with caplog.at_level(logging.ERROR, logger="concurrent.futures"):
        gate.open()
        wait_until(lambda: told == [future])
        future.add_done_callback(lambda f: 1 / 0)
    assert [record.exc_info[0] for record in caplog.records] == [ZeroDivisionError] * 2


def test_result_on_the_main_thread_lets_the_function_have_the_gil(stream):
    """contract: P3; the function needs what the waiting thread holds."""
    interval = sys.getswitchinterval()
    assert submit(stream, sum, range(10**6)).result(LIMIT) == sum(range(10**6))
    assert sys.getswitchinterval() == interval
