# SPDX-License-Identifier: Apache-2.0
"""Futures whose launch is refused, whose context fails, and those of a parent."""

import gc
import weakref

import pytest

import failing
import hostlaunch
from child import run_python
from embedded import LAUNCH_FAILED
from fakes import ForeignStream
from hostlaunch import submit, work_done
from waiting import bounded, wait_until

LIMIT = 20

PRELUDE = """
import asyncio, concurrent.futures as cf, gc, os, signal, sys, threading, time, warnings, weakref
import embedded, hostlaunch, waiting
from hostlaunch import submit, work_done
knobs = embedded.knobs()
knobs.check_gil()
stream = hostlaunch.Stream(0)
"""
EPILOGUE = """
waiting.wait_until(waiting.is_quiet)
assert waiting.adds_up(hostlaunch.stats()), hostlaunch.stats()
assert knobs.violations() == 0, knobs.first_violation()
print("done")
"""


@pytest.fixture
def run(embedded):
    """Run a case in a process of its own; it must end cleanly and say nothing on stderr."""

    def run_case(code, epilogue=EPILOGUE, **kwargs):
        result = run_python(PRELUDE + code + epilogue, timeout=60, **kwargs)
        assert result.lines[-1:] == ["done"]

    return run_case


class Thing:
    """Something whose release can be seen."""

    def __call__(self):
        """Do nothing."""


# The stream is then told apart by its handle; the context is kept by whoever else keeps it.
SURVIVED = ("cuStreamGetId", "cuDevicePrimaryCtxRetain")

CALLS = {
    "submit": lambda on: submit(on, int),
    "work_done": work_done,
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("carrier", ["own", "foreign"])
def test_each_driver_call_fails_in_turn(embedded, stream, call, carrier):
    """contract: P5, L3: refused, with nothing kept; or the future ends as it should."""
    on = stream if carrier == "own" else ForeignStream(stream.handle)
    submit(stream, int).result(LIMIT)
    calls = failing.driver_calls(embedded, lambda: CALLS[call](on).result(LIMIT))
    assert "cuEventRecord" in {c.entry for c in calls}
    for failed in calls:
        events = embedded.live("events")
        with failing.failed(embedded, failed, LAUNCH_FAILED):
            try:
                future = CALLS[call](on)
            except hostlaunch.CUDAError as error:
                assert error.code == LAUNCH_FAILED
            else:
                assert failed.restores or failed.entry in SURVIVED, failed
                future.result(LIMIT)
        wait_until(lambda: hostlaunch.stats().pending == 0)
        wait_until(lambda events=events: embedded.live("events") == events)
        assert submit(stream, int).result(LIMIT) == 0


def test_a_refused_function_is_released_before_the_exception_leaves(embedded, stream):
    """contract: P5, L3."""
    submit(stream, int).result(LIMIT)
    thing = Thing()
    gone = weakref.ref(thing)
    embedded.fail("cuEventRecord", LAUNCH_FAILED)
    with pytest.raises(hostlaunch.CUDAError, match="submit"):
        submit(stream, thing, thing, named=thing)
    del thing
    gc.collect()
    assert gone() is None


def test_an_error_that_passes_is_not_taken_for_a_failed_context(embedded, stream, gate):
    """contract: P3."""
    gate.hold(stream)
    future = work_done(stream)
    embedded.fail("cuEventQuery", 999)
    wait_until(lambda: not future.done())
    gate.open()
    assert future.result(LIMIT) is stream


def test_an_error_that_stays_ends_the_future(embedded, stream, gate):
    """contract: P3: nobody waits for ever."""
    gate.hold(stream)
    future = work_done(stream)
    for nth in range(1, 200):
        embedded.fail("cuEventQuery", 999, nth)
    with pytest.raises(hostlaunch.CUDAError, match="999"):
        future.result(LIMIT)


def test_a_context_that_fails_first_is_the_outcome(run):
    """contract: P3, X3, L4."""
    run("""
where, runs = [], []
class Tells:
    def __call__(self, *args): runs.append(1)
    def __del__(self): where.append(threading.get_ident())
gate = waiting.Gate()
gate.hold(stream)
futures = [submit(stream, Tells(), Tells()) for _ in range(50)]
futures += [work_done(stream) for _ in range(50)]
async def main():
    waits = [asyncio.create_task(asyncio.wait_for(f, 20)) for f in futures]
    await asyncio.sleep(0)
    knobs.sticky_error(700)
    return await asyncio.gather(*waits, return_exceptions=True)
for error in asyncio.run(main()):
    assert isinstance(error, hostlaunch.CUDAError) and error.code == 700, error
    assert error.name == "CUDA_ERROR_ILLEGAL_ADDRESS"
for future in futures:
    try:
        future.result(20)
    except hostlaunch.CUDAError as error:
        assert error.code == 700
assert cf.wait(futures, timeout=20).done == set(futures)
for call in (lambda: submit(stream, int), lambda: work_done(stream)):
    try:
        call()
    except hostlaunch.CUDAError as error:
        assert error.code == 700
    else:
        raise AssertionError("accepted")
gate.open()
waiting.wait_until(lambda: len(where) == 100)
assert set(where) == {threading.main_thread().ident}
assert runs == []
assert hostlaunch.stats().abandoned == 100
""")


def test_a_main_thread_that_waits_learns_of_a_failed_context(run):
    """contract: P3: result() on the main thread, which could release nothing."""
    run("""
gate = waiting.Gate()
gate.hold(stream)
future = work_done(stream)
threading.Timer(0.05, knobs.sticky_error, (700,)).start()
try:
    future.result(20)
except hostlaunch.CUDAError as error:
    assert error.code == 700
gate.open()
""")


def test_in_a_forked_child_pending_futures_are_cancelled(run):
    """contract: P3, X2."""
    run(
        """
warnings.simplefilter("ignore", DeprecationWarning)
gate = waiting.Gate()
gate.hold(stream)
ran = []
futures = [submit(stream, ran.append, 1), work_done(stream)]
ended = submit(hostlaunch.Stream(0), int, 5)
assert ended.result(20) == 5
def waits():
    try:
        futures[0].result(60)
    except cf.CancelledError:
        pass
thread = threading.Thread(target=waits)
thread.start()
waiting.wait_until(lambda: futures[0]._condition._waiters)
pid = os.fork()
if pid == 0:
    signal.alarm(40)
    assert ended.result() == 5
    for future in futures:
        assert future.cancelled() and future.done() and future.cancel()
        try:
            future.result()
        except cf.CancelledError:
            pass
        else:
            raise AssertionError("a result")
    async def main():
        try:
            await futures[1]
        except asyncio.CancelledError:
            return "cancelled"
    assert asyncio.run(main()) == "cancelled"
    for call in (lambda: submit(stream, int), lambda: work_done(stream)):
        try:
            call()
        except RuntimeError as error:
            assert "fork" in str(error), error
        else:
            raise AssertionError("accepted")
    sys.exit(0)
_, status = os.waitpid(pid, 0)
assert os.waitstatus_to_exitcode(status) == 0, status
assert not any(future.done() for future in futures)
gate.open()
assert futures[1].result(20) is stream
thread.join(20)
assert ran == [1]
"""
    )


def test_a_function_that_forks_ends_in_the_child(run):
    """contract: X2."""
    run(
        """
warnings.simplefilter("ignore", DeprecationWarning)
def forks():
    return os.fork()
pid = submit(stream, forks).result(20)
_, status = os.waitpid(pid, 0)
assert os.waitstatus_to_exitcode(status) == 0, status
"""
    )


def test_a_fork_before_the_first_use_leaves_the_child_free(embedded):
    """contract: X2."""
    result = run_python(
        """
import os, hostlaunch
pid = os.fork()
stream = hostlaunch.Stream(0)
assert hostlaunch.submit(stream, int, 5).result(20) == 5
if pid != 0:
    _, status = os.waitpid(pid, 0)
    assert status == 0
    print("done")
""",
        timeout=60,
    )
    assert result.lines == ["done"]


def test_cancelling_needs_no_driver(embedded, stream, gate):
    """contract: P4."""
    gate.hold(stream)
    future = submit(stream, int)
    with embedded.log() as calls:
        assert future.cancel()
    assert {call.name for call in calls} <= {"cuEventQuery", "cuThreadExchangeStreamCaptureMode"}
    gate.open()
    bounded(stream.sync)


def test_a_crash_in_a_function_is_reported():
    """contract: L7."""
    result = run_python(
        """
import ctypes, hostlaunch
hostlaunch.submit(hostlaunch.Stream(0), ctypes.string_at, 8).result(20)
""",
        returncode=-11,
        stderr=None,
    )
    assert "Fatal Python error: Segmentation fault" in result.stderr


@pytest.mark.parametrize(("setting", "threads"), [("2", 2), ("0", 4), ("many", 4), (None, 4)])
def test_the_number_of_threads_is_a_setting(setting, threads):
    """contract: section 7."""
    result = run_python(
        """
import hostlaunch, os
assert hostlaunch.submit(hostlaunch.Stream(0), int, 5).result(20) == 5
for thread in os.listdir("/proc/self/task"):
    with open(f"/proc/self/task/{thread}/comm") as comm:
        print(comm.read().strip())
""",
        env={"HOSTLAUNCH_WORKERS": setting},
    )
    assert len([name for name in result.lines if name.startswith("hostlaunch-")]) == threads
