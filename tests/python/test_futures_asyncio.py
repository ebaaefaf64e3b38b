# SPDX-License-Identifier: Apache-2.0
"""Futures awaited in asyncio, and in uvloop where it is installed."""

import asyncio
import concurrent.futures as cf
import gc
import os
import threading
import weakref

import pytest

from hostlaunch import host_launch, submit, work_done
from waiting import Gate, bounded

LIMIT = 20


def loop_classes():
    """The loops to try."""
    try:
        import uvloop
    except ImportError:
        return [asyncio.SelectorEventLoop]
    return [asyncio.SelectorEventLoop, uvloop.Loop]


def counting(loop_class):
    """Make a class of loops that count how often they are woken."""

    class Counting(loop_class):
        wake_ups = 0

        def add_reader(self, fd, callback, *args):
            def counted():
                self.wake_ups += 1
                callback(*args)

            super().add_reader(fd, counted)

    return Counting


@pytest.fixture(params=loop_classes(), ids=lambda c: c.__module__.partition(".")[0])
def run(request):
    """Run a coroutine in a loop of its own, bounded."""

    def run(main, debug=None):
        async def limited():
            async with asyncio.timeout(LIMIT):
                return await main()

        with asyncio.Runner(loop_factory=counting(request.param), debug=debug) as runner:
            return runner.run(limited())

    return run


class Held:
    """Streams that stand still until they are let go, also by a call of the loop."""

    def __init__(self, make_stream, count=1):
        self.gate = Gate()
        self.streams = [make_stream(0) for _ in range(count)]
        for stream in self.streams:
            host_launch(stream, self.gate._opened.wait)

    def open(self):
        self.gate.open()

    def open_soon(self):
        """Once the tasks that exist now have had their turn."""
        asyncio.get_running_loop().call_later(0.01, self.open)


@pytest.fixture
def held(make_stream):
    """Make streams that are held, let go at the latest after the test."""
    made = []

    def make(count=1):
        made.append(Held(make_stream, count))
        return made[-1]

    yield make
    for one in made:
        one.open()


async def result_of(future):
    return await future


@pytest.mark.parametrize("debug", [False, True])
def test_a_future_is_awaited(run, held, debug):
    """contract: P8, P3."""
    on = held()

    async def main():
        futures = [work_done(on.streams[0]), submit(on.streams[0], sum, [1, 2])]
        on.open_soon()
        assert await futures[0] is on.streams[0]
        assert await futures[1] == 3
        assert await futures[1] == 3  # one that has ended, at once

    run(main, debug)


def test_values_that_iterators_take_apart_come_whole(run, stream):
    """contract: P3."""
    error = ValueError("as a result")

    async def main():
        assert await submit(stream, tuple, (1, 2)) == (1, 2)
        assert await submit(stream, lambda: error) is error
        assert await submit(stream, lambda: None) is None
        assert await submit(stream, lambda: StopIteration(3)) is not None

    run(main)


def test_exceptions_come_out_of_the_await(run, stream):
    """contract: P3."""

    async def main():
        with pytest.raises(ValueError, match="invalid literal"):
            await submit(stream, int, "x")

        def stop():
            raise StopIteration(5)

        with pytest.raises(RuntimeError, match="StopIteration") as caught:
            await submit(stream, stop)
        assert isinstance(caught.value.__cause__, StopIteration)

    run(main)


def test_cancelling_the_task_cancels_the_future(run, held):
    """contract: P3, P4."""
    on = held()
    ran = []

    async def main():
        future = submit(on.streams[0], ran.append, 1)
        task = asyncio.create_task(result_of(future))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert future.cancelled()

    run(main)
    on.open()
    bounded(on.streams[0].sync)
    assert submit(on.streams[0], int).result(LIMIT) == 0
    assert ran == []


def test_cancelling_the_future_cancels_the_task(run, held):
    """contract: P3, P4."""
    on = held()

    async def main():
        future = work_done(on.streams[0])
        task = asyncio.create_task(result_of(future))
        await asyncio.sleep(0)
        threading.Thread(target=future.cancel).start()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()
        with pytest.raises(asyncio.CancelledError):
            await future

    run(main)


def test_a_function_that_runs_goes_on_when_its_task_is_cancelled(run, stream):
    """contract: P3, P4."""
    entered, release, told = threading.Event(), threading.Event(), []

    def work():
        entered.set()
        told.append(release.wait(LIMIT))

    async def main():
        future = submit(stream, work)
        task = asyncio.create_task(result_of(future))
        await asyncio.to_thread(entered.wait, LIMIT)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not future.cancelled()
        release.set()
        await future

    run(main)
    assert told == [True]


def test_timeout_wait_for_shield_gather_and_task_groups(run, held, stream):
    """contract: P8."""
    on = held()

    async def main():
        late = work_done(on.streams[0])
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await late
        assert late.cancelled()
        kept = work_done(on.streams[0])
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(kept), 0.01)
        assert not kept.cancelled()
        on.open_soon()
        assert await asyncio.wait_for(kept, LIMIT) is on.streams[0]
        assert await asyncio.gather(*[submit(stream, int, i) for i in range(5)]) == [0, 1, 2, 3, 4]
        assert await asyncio.wrap_future(submit(stream, int, 7)) == 7
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(result_of(submit(stream, int, i))) for i in range(5)]
        assert [task.result() for task in tasks] == [0, 1, 2, 3, 4]
        done = [await first for first in asyncio.as_completed([submit(stream, int, 9)])]
        assert done == [9]

    run(main)


def test_asyncio_wait_refuses_a_future_instead_of_hanging(run, held):
    """contract: P8."""
    on = held()

    async def main():
        future = work_done(on.streams[0])
        with pytest.raises(TypeError, match=r"asyncio\.ensure_future"):
            await asyncio.wait([future])
        on.open_soon()
        done, pending = await asyncio.wait([asyncio.ensure_future(future)], timeout=LIMIT)
        assert (len(done), len(pending)) == (1, 0)

    run(main)


def test_one_wake_up_serves_all_that_became_ready_together(run, held):
    """contract: P8."""
    on = held(8)
    count = 2000

    async def main():
        loop = asyncio.get_running_loop()
        tasks = [asyncio.create_task(result_of(work_done(on.streams[i % 8]))) for i in range(count)]
        await asyncio.sleep(0)
        before = loop.wake_ups
        on.open()
        results = await asyncio.gather(*tasks)
        assert results == [on.streams[i % 8] for i in range(count)]
        return loop.wake_ups - before

    assert run(main) < count / 20


def test_several_tasks_await_one_future(run, held):
    """contract: P3."""
    on = held()

    async def main():
        future = work_done(on.streams[0])
        tasks = [asyncio.create_task(result_of(future)) for _ in range(10)]
        await asyncio.sleep(0)
        on.open_soon()
        assert await asyncio.gather(*tasks) == [on.streams[0]] * 10

    run(main)


def test_loops_of_several_threads_await_one_future(run, held):
    """contract: P3, P8."""
    on = held()
    future = work_done(on.streams[0])
    results, waiting = [], threading.Barrier(5)

    async def main():
        task = asyncio.create_task(result_of(future))
        await asyncio.sleep(0)
        await asyncio.to_thread(waiting.wait, LIMIT)
        return await task

    threads = [threading.Thread(target=lambda: results.append(run(main))) for _ in range(4)]
    for thread in threads:
        thread.start()
    waiting.wait(LIMIT)
    on.open()
    for thread in threads:
        thread.join(LIMIT)
    assert results == [on.streams[0]] * 4


def test_a_loop_that_is_closed_meanwhile_is_left_alone(run, held, unraisable, caplog):
    """contract: P3."""
    on = held()
    future = None

    async def main():
        nonlocal future
        future = submit(on.streams[0], int, 5)
        waiting = future.__await__()
        next(waiting)  # as a task would that is forgotten

    run(main)
    on.open()
    assert future.result(LIMIT) == 5
    assert not caplog.records
    assert not unraisable.calls


def test_asyncio_run_cancels_what_waits_at_its_end(run, held):
    """contract: P3."""
    on = held()
    futures = []

    async def main():
        futures.append(work_done(on.streams[0]))
        futures.append(asyncio.create_task(result_of(futures[0])))
        await asyncio.sleep(0)

    run(main)
    assert futures[0].cancelled()


def test_outside_of_a_loop_an_await_says_so(stream, held):
    """contract: P3."""
    on = held()
    coroutine = result_of(work_done(on.streams[0]))
    with pytest.raises(RuntimeError, match="no running event loop"):
        coroutine.send(None)


def test_loops_leave_nothing_behind(run, stream, held):
    """contract: P8."""

    def descriptors():
        return len(os.listdir("/proc/self/fd"))

    async def main():
        await submit(stream, int)
        return weakref.ref(asyncio.get_running_loop())

    run(main)
    gc.collect()
    before = descriptors()
    loops = [run(main) for _ in range(20)]
    gc.collect()
    assert [loop() for loop in loops] == [None] * 20
    assert descriptors() == before


def test_a_loop_that_reads_no_files_is_served_all_the_same(stream, held):
    """contract: P8."""
    on = held()

    class NoReaders(asyncio.SelectorEventLoop):
        def add_reader(self, fd, callback, *args):
            raise NotImplementedError

    async def main():
        future = work_done(on.streams[0])
        on.open_soon()
        assert await future is on.streams[0]
        cancelled = work_done(on.streams[0])
        await cancelled

    with asyncio.Runner(loop_factory=NoReaders) as runner:
        runner.run(main())


def test_a_wrapped_concurrent_cancelled_error_stays_an_outcome(run, stream):
    """contract: P3."""

    def raises():
        raise cf.CancelledError

    async def main():
        with pytest.raises(cf.CancelledError):
            await submit(stream, raises)

    run(main)
