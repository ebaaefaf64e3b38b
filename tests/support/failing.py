# SPDX-License-Identifier: Apache-2.0
"""Lets each driver call of an operation fail in turn.

What an operation calls is not listed but taken from the driver's log, so that a new call is tested
as soon as it is made. Only calls of the calling thread count: the library's own thread takes no
failure away.
"""

import collections
import contextlib
import dataclasses
import gc
import threading

import pytest

import cudriver
import hostlaunch
import waiting

# Where the driver refuses one of these, the object is still there, and nobody is told.
RELEASES = frozenset(
    {
        "cuStreamDestroy",
        "cuEventDestroy",
        "cuMemFree",
        "cuMemFreeHost",
        "cuGraphDestroy",
        "cuGraphExecDestroy",
        "cuUserObjectRelease",
    }
)
MODE = "cuThreadExchangeStreamCaptureMode"
OBJECTS = (
    "streams",
    "events",
    "device_memory",
    "host_memory",
    "graphs",
    "graph_execs",
    "user_objects",
)


@dataclasses.dataclass(frozen=True)
class DriverCall:
    """The nth call of an entry that an operation makes. `restores`: it undoes its own step."""

    entry: str
    nth: int
    restores: bool = False


# Into relaxed mode, and back.
MODE_CALLS = [DriverCall(MODE, nth, restores=True) for nth in (1, 2)]


def driver_calls(embedded, operation, *, warm_up=True):
    """Carry out the operation; what it calls on this thread, in order, when it is done again."""
    own, context = threading.get_native_id(), cudriver.handle().current_context() or 0
    if warm_up:  # what a first use does besides is not the operation's business
        operation()
        settle(embedded)
    with embedded.log() as logged:
        operation()
    assert (cudriver.handle().current_context() or 0) == context, "the current context has changed"
    seen = collections.Counter()
    calls = []
    for call in logged:
        if call.thread != own:
            continue
        seen[call.name] += 1
        puts_context_back = call.name == "cuCtxSetCurrent" and call.args[0] == context
        restores = puts_context_back or call.name == MODE
        calls.append(DriverCall(call.name, seen[call.name], restores))
    assert calls, "the operation made no driver call"
    return calls


def live(embedded):
    """How many objects of each kind the driver has."""
    return {what: embedded.live(what) for what in OBJECTS}


def settle(embedded):
    """Wait until all that was launched has run and is released."""
    assert embedded.wait_idle()
    waiting.wait_until(lambda: waiting.is_quiet() and hostlaunch.stats().awaiting_release == 0, 20)


@contextlib.contextmanager
def no_collection():
    """Let no garbage of earlier tests die in the block: objects are counted there."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextlib.contextmanager
def failed(embedded, call, code):
    """Let the call fail in the block; the thread's context and capture mode are put back."""
    driver = cudriver.handle()
    before = driver.current_context()
    embedded.fail_own(call.entry, code, call.nth)
    try:
        yield
        embedded.reset()
        after = driver.current_context()
        assert call.restores or after == before, "the current context has changed"
        mode = driver.exchange_capture_mode(cudriver.GLOBAL)
        assert call.restores or mode == cudriver.GLOBAL, "the capture mode has changed"
    except BaseException as error:
        error.add_note(f"when call {call.nth} of {call.entry} returns {code}")
        raise
    finally:
        embedded.reset()
        driver.exchange_capture_mode(cudriver.GLOBAL)
        driver.set_current(before)


def check_error(error, call, code, attempted):
    """Look at the one error that a failed call is told by."""
    assert isinstance(error, hostlaunch.CUDAError), repr(error)
    assert error.code == code
    assert error.name.startswith("CUDA_ERROR_"), error.name
    for word in (attempted, call.entry, error.name, str(code)):
        assert word in str(error), f"{word} is not in {error}"


def fail_each_call(embedded, operation, attempted, code, survives=()):
    """Let each call fail that an operation makes, which leaves nothing when it succeeds.

    `survives`: entries whose failure is not the operation's. What only restores never is, nor is
    the release of what the operation made for itself.
    """
    for call in driver_calls(embedded, operation):
        settle(embedded)
        before = live(embedded)
        with failed(embedded, call, code):
            if call.restores or call.entry in RELEASES or call.entry in survives:
                operation()
            else:
                with pytest.raises(hostlaunch.CUDAError) as caught:
                    operation()
                check_error(caught.value, call, code, attempted)
                del caught
            settle(embedded)
            left = live(embedded)
            if call.entry in RELEASES:
                assert sum(left.values()) == sum(before.values()) + 1
            else:
                assert left == before
        operation()
