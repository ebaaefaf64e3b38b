# SPDX-License-Identifier: Apache-2.0
"""Exceptions inside host functions, and what one function leaves behind for the next."""

import contextvars
import ctypes
import sys
import threading
import time
from contextlib import closing

import pytest

import hostlaunch
import waiting
from hostfns import CUhostFn, bare
from hostlaunch import host_launch

ERRORS = [ValueError("mine"), SystemExit(3), KeyboardInterrupt(), GeneratorExit(), MemoryError()]


def raising(error):
    """Make a function that raises the error."""

    def fail():
        raise error

    return fail


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_exception_goes_to_the_unraisable_hook_and_the_stream_goes_on(stream, unraisable, error):
    """contract: E1."""
    ran = []
    fn = raising(error)
    before = hostlaunch.stats()
    host_launch(stream, lambda: ran.append(threading.get_ident()))
    host_launch(stream, fn)
    host_launch(stream, lambda: ran.append(threading.get_ident()))
    waiting.sync(stream)  # sync reports no error
    [(kind, text, object_id, ident)] = unraisable.calls
    assert (kind, text, object_id) == (type(error), str(error), id(fn))
    assert ran == [ident, ident]
    after = hostlaunch.stats()
    assert after.raised == before.raised + 1
    assert after.ran == before.ran + 2


def test_the_hook_is_called_before_later_work_of_the_stream(stream, monkeypatch):
    """contract: E1, O1."""
    order = []
    monkeypatch.setattr(sys, "unraisablehook", lambda _: order.append("hook"))
    host_launch(stream, raising(ValueError("mine")))
    host_launch(stream, lambda: order.append("next"))
    waiting.sync(stream)
    assert order == ["hook", "next"]


def test_the_hook_sees_exception_traceback_and_function(stream, monkeypatch):
    """contract: E1."""
    seen = []

    def hook(unraisable):
        error = unraisable.exc_value
        seen.append((unraisable.object is fn, error.__traceback__.tb_frame.f_code.co_name))

    monkeypatch.setattr(sys, "unraisablehook", hook)
    fn = raising(ValueError("mine"))
    host_launch(stream, fn)
    waiting.sync(stream)
    assert seen == [(True, "fail")]


@pytest.mark.parametrize("error", [RuntimeError("in the hook"), SystemExit(4)])
def test_a_hook_that_raises_changes_nothing(stream, monkeypatch, error):
    """contract: E1."""
    ran = []

    def hook(_):
        raise error

    monkeypatch.setattr(sys, "unraisablehook", hook)
    monkeypatch.setattr(sys, "stderr", open("/dev/null", "w"))  # noqa: SIM115
    for _ in range(5):
        host_launch(stream, raising(ValueError("mine")))
        host_launch(stream, lambda: ran.append(1))
    waiting.sync(stream)
    assert ran == [1] * 5
    sys.stderr.close()


def test_a_hook_may_take_locks_and_time(stream, monkeypatch):
    """contract: E1."""
    lock = threading.Lock()
    calls = []

    def hook(_):
        with lock:
            calls.append(1)

    monkeypatch.setattr(sys, "unraisablehook", hook)
    with lock:
        for _ in range(3):
            host_launch(stream, raising(ValueError("mine")))
        waiting.wait_until(lambda: hostlaunch.stats().running == 1)
    waiting.sync(stream)
    assert calls == [1] * 3


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_the_exception_of_a_thunk_is_reported_and_the_stream_goes_on(stream, unraisable, error):
    """contract: E1 (reported by ctypes)."""
    ran = []

    def fail(pointer):
        raise error

    host_launch(stream, CUhostFn(fail))
    host_launch(stream, lambda: ran.append(1))
    waiting.sync(stream)
    assert unraisable.types == [type(error)]
    assert ran == [1]


def test_no_exception_is_left_for_the_next_function(stream, unraisable):
    """contract: E2."""
    seen = []

    def caught():
        try:
            raise ValueError("inside")
        except ValueError:
            sys.exc_info()

    for before in (raising(ValueError("mine")), raising(SystemExit(1)), caught):
        host_launch(stream, before)
        host_launch(stream, lambda: seen.append(sys.exc_info()))
    waiting.sync(stream)
    assert seen == [(None, None, None)] * 3


def test_no_context_variable_is_left_for_the_next_function(stream):
    """contract: E2."""
    variable = contextvars.ContextVar("variable", default="unset")
    seen = []

    def set_it():
        seen.append(variable.get())
        variable.set("set")
        seen.append(variable.get())

    for _ in range(3):
        host_launch(stream, set_it)
        host_launch(stream, CUhostFn(lambda pointer: set_it()))
    waiting.sync(stream)
    assert seen == ["unset", "set"] * 6


def test_thread_locals_persist_on_the_drivers_thread(stream, embedded):
    """contract: E2 (documented)."""
    local = threading.local()
    seen = []

    def count():
        local.calls = getattr(local, "calls", 0) + 1
        seen.append(local.calls)

    for _ in range(4):
        host_launch(stream, count)
    waiting.sync(stream)
    assert seen == [1, 2, 3, 4]


def entering_calls(stream, event, buffers, compiled):
    """Each call that would enter CUDA."""
    first, second = buffers
    return {
        "host_launch": lambda: host_launch(stream, int),
        "host_launch as is": lambda: host_launch(stream, compiled, user_data=b"x"),
        "Stream": lambda: hostlaunch.Stream(0),
        "Buffer": lambda: hostlaunch.Buffer(16),
        "Stream.sync": stream.sync,
        "Stream.record": stream.record,
        "Stream.record event": lambda: stream.record(event),
        "Stream.wait event": lambda: stream.wait(event),
        "Stream.wait stream": lambda: stream.wait(stream),
        "Event.sync": event.sync,
        "Event.is_done": lambda: event.is_done,
        "Buffer.copy_to": lambda: first.copy_to(second, stream=stream),
        "Buffer.copy_from": lambda: first.copy_from(second, stream=stream),
        "Buffer.fill": lambda: first.fill(1, stream=stream),
    }


def collect_errors(calls, errors):
    """Make each call; remember the exception, or None."""
    for name, call in calls.items():
        try:
            call()
            errors[name] = None
        except Exception as error:
            errors[name] = error


def check_refused(errors):
    """All are plain RuntimeErrors that say why."""
    for name, error in errors.items():
        assert isinstance(error, RuntimeError), (name, error)
        assert not isinstance(error, hostlaunch.CUDAError), (name, error)
        assert "host function" in str(error), (name, error)


def test_calls_that_enter_cuda_from_inside_a_function_are_refused_at_once(stream, hostfns):
    """contract: E3."""
    errors = {}
    with closing(hostlaunch.Buffer(16)) as first, closing(hostlaunch.Buffer(16)) as second:
        calls = entering_calls(stream, stream.record(), (first, second), hostfns.count)
        host_launch(stream, lambda: collect_errors(calls, errors))
        waiting.sync(stream)
        assert len(errors) == len(calls)
        check_refused(errors)
        host_launch(stream, CUhostFn(lambda pointer: collect_errors(calls, errors)))
        waiting.sync(stream)
        check_refused(errors)


def test_calls_that_do_not_enter_cuda_work_inside_a_function(stream):
    """contract: E3."""
    seen = []

    def look():
        seen.append((stream.handle, stream.is_closed, stream.__cuda_stream__()))
        seen.append(hostlaunch.driver())
        seen.append(hostlaunch.stats().running)

    host_launch(stream, look)
    waiting.sync(stream)
    assert seen == [
        (stream.handle, False, (0, stream.handle)),
        hostlaunch.driver(),
        1,
    ]


@pytest.mark.parametrize("how", ["foreign", "as is"])
def test_blocking_calls_recognise_host_functions_of_others(stream, cu, how):
    """contract: E3."""
    errors = {}
    event = stream.record()
    calls = {"Stream.sync": stream.sync, "Event.sync": event.sync}
    thunk = CUhostFn(lambda pointer: collect_errors(calls, errors))
    if how == "foreign":
        cu.launch(stream.handle, thunk)
    else:
        host_launch(stream, bare(thunk))
    waiting.sync(stream)
    assert len(errors) == 2
    check_refused(errors)


def test_a_function_that_launches_is_told_through_the_hook(stream, unraisable):
    """contract: E1, E3."""
    host_launch(stream, lambda: host_launch(stream, int))
    waiting.sync(stream)
    assert unraisable.types == [RuntimeError]
    assert "host function" in unraisable.calls[0][1]


def test_functions_share_a_thread_on_which_another_library_keeps_its_state(
    embedded, make_stream, hostfns, unraisable
):
    """contract: F1, E1, E2, L2. The state is used, and left as it was."""
    embedded.set_threads(1)
    stream = make_stream(0)
    variable = contextvars.ContextVar("variable", default="unset")
    seen = []

    def set_it():
        seen.append(variable.get())
        variable.set("set")
        raise ValueError("mine")

    host_launch(stream, hostfns.pin_state)
    for _ in range(50):
        host_launch(stream, set_it)
        host_launch(stream, CUhostFn(lambda pointer: seen.append(pointer)), user_data=3)
    waiting.sync(stream)
    assert seen == ["unset", 3] * 50
    assert unraisable.types == [ValueError] * 50
    host_launch(stream, hostfns.identify)
    waiting.sync(stream)
    assert hostfns.library.hf_attached() == 0


class Late(Exception):
    """Raised in another thread."""


def raise_in(thread, what):
    """Let Python raise `what` in another thread."""
    raised = ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), ctypes.py_object(what)
    )
    assert raised == 1


def test_an_exception_that_comes_too_late_for_one_function_does_not_hit_the_next(
    stream, unraisable
):
    """contract: E2."""
    threads, ran = [], []
    host_launch(stream, lambda: threads.append(threading.get_ident()))
    waiting.sync(stream)
    raise_in(threads[0], Late)

    def next_one():
        for number in range(1000):
            ran.append(number)

    host_launch(stream, next_one)
    waiting.sync(stream)
    assert len(ran) == 1000
    assert unraisable.types == []


def test_an_exception_that_comes_in_time_is_raised_in_the_function(stream, unraisable):
    """contract: E1."""
    threads = []

    def body():
        threads.append(threading.get_ident())
        while True:
            time.sleep(0.001)

    host_launch(stream, body)
    waiting.wait_until(lambda: threads)
    raise_in(threads[0], Late)
    waiting.sync(stream)
    assert unraisable.types == [Late]
