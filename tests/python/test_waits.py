# SPDX-License-Identifier: Apache-2.0
"""Waits with a time limit, and waits that leave the processor to others."""

import threading
import time

import pytest

import hostlaunch
from child import run_python
from waiting import wait_until


class Gate:
    """A function that blocks its stream until it is opened."""

    def __init__(self):
        self.opened = threading.Event()

    def __call__(self):
        assert self.opened.wait(60)


@pytest.fixture
def gate():
    made = Gate()
    yield made
    made.opened.set()


def waits_of(stream):
    """Both kinds of wait, for what is on the stream now."""
    return {"stream": stream.sync, "event": stream.record().sync}


KINDS = pytest.mark.parametrize("kind", ["stream", "event"])


@KINDS
def test_a_wait_that_is_too_short_raises_and_may_be_repeated(kind, stream, gate):
    """contract: D5. Nothing is lost: the function runs, and is released by a later wait."""
    hostlaunch.host_launch(stream, gate)
    wait = waits_of(stream)[kind]
    for timeout in (0, 0.001, 0.3):
        began = time.monotonic()
        with pytest.raises(TimeoutError, match=r"^(Stream|Event)\.sync: .* within .* s") as raised:
            wait(timeout)
        assert time.monotonic() - began >= timeout
        assert str(float(timeout)) in str(raised.value)
    gate.opened.set()
    wait(timeout=60)
    wait(0)
    wait()


@KINDS
def test_a_wait_ends_as_soon_as_the_work_is_done(kind, stream, gate):
    """contract: D5. Long before its limit; what has run is released."""
    before = hostlaunch.stats().ran
    hostlaunch.host_launch(stream, gate)
    wait = waits_of(stream)[kind]
    threading.Timer(0.05, gate.opened.set).start()
    wait(timeout=1e300)
    assert hostlaunch.stats().ran == before + 1
    assert hostlaunch.stats().awaiting_release == 0


@KINDS
def test_only_what_was_enqueued_before_is_waited_for(kind, stream, gate):
    """contract: D5."""
    ran = []
    hostlaunch.host_launch(stream, lambda: ran.append(1))
    wait = waits_of(stream)[kind]
    if kind == "event":
        hostlaunch.host_launch(stream, gate)
    wait(60)
    assert ran == [1]


@KINDS
def test_the_gil_is_free_during_a_wait(kind, stream, gate):
    """contract: D5, G1. The function that is waited for needs it."""
    ran = []
    hostlaunch.host_launch(stream, gate)
    hostlaunch.host_launch(stream, lambda: ran.append(sum(range(1000))))
    wait = waits_of(stream)[kind]
    counted = []
    thread = threading.Thread(target=lambda: (counted.extend(range(1000)), gate.opened.set()))
    thread.start()
    wait(60)
    thread.join()
    assert ran == [499500]
    assert len(counted) == 1000


@KINDS
@pytest.mark.parametrize("blocking", [True, False, None])
def test_every_way_of_waiting_waits(kind, blocking, stream, gate):
    """contract: D5."""
    hostlaunch.host_launch(stream, gate)
    wait = waits_of(stream)[kind]
    threading.Timer(0.05, gate.opened.set).start()
    wait(blocking=blocking)
    assert gate.opened.is_set()
    wait(timeout=60, blocking=blocking)


@KINDS
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"timeout": "1"}, TypeError),
        ({"timeout": True}, TypeError),
        ({"timeout": b"1"}, TypeError),
        ({"timeout": -1}, ValueError),
        ({"timeout": -0.001}, ValueError),
        ({"timeout": float("nan")}, ValueError),
        ({"timeout": 10**400}, OverflowError),
        ({"blocking": 1}, TypeError),
        ({"blocking": "yes"}, TypeError),
    ],
)
def test_other_arguments_are_refused(kind, arguments, error, stream):
    """contract: D5."""
    with pytest.raises(error, match=r"timeout|blocking|too large"):
        waits_of(stream)[kind](**arguments)


@KINDS
def test_infinity_is_no_limit(kind, stream):
    """contract: D5."""
    waits_of(stream)[kind](float("inf"))


def test_a_wait_inside_a_function_is_refused(stream):
    """contract: D5, E3."""
    event = stream.record()
    errors = []

    def waits():
        for wait in (stream.sync, event.sync):
            for arguments in ({"timeout": 1}, {"blocking": True}, {"timeout": 0}):
                try:
                    wait(**arguments)
                except RuntimeError as error:
                    errors.append(str(error))

    hostlaunch.host_launch(stream, waits)
    stream.sync(60)
    assert len(errors) == 6
    assert all("inside a host function" in text for text in errors)


def test_closed_objects_are_refused():
    """contract: D5, S6."""
    stream = hostlaunch.Stream()
    event = stream.record()
    stream.close()
    event.close()
    for wait in (stream.sync, event.sync):
        for arguments in ({"timeout": 1}, {"blocking": True}):
            with pytest.raises(RuntimeError, match="closed"):
                wait(**arguments)


def test_a_capturing_stream_is_told_as_without_a_limit(stream):
    """contract: D5."""
    for arguments in ({}, {"timeout": 1}, {"blocking": True}):
        builder = stream.create_graph_builder()
        builder.begin_building()
        with pytest.raises(hostlaunch.CUDAError) as raised:
            stream.sync(**arguments)
        assert raised.value.name == "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"
        builder.close()


def test_an_error_of_the_context_ends_a_wait(embedded):
    """contract: D5, X3."""
    run_python("""
        import threading
        import hostlaunch
        import embedded
        stream = hostlaunch.Stream()
        gate = threading.Event()
        hostlaunch.host_launch(stream, lambda: gate.wait(60))
        event = stream.record()
        embedded.knobs().sticky_error(700)
        for wait in (stream.sync, event.sync):
            try:
                wait(timeout=30)
            except hostlaunch.CUDAError as error:
                assert error.code == 700, error
            else:
                raise AssertionError("no error")
        gate.set()
    """)


@pytest.mark.parametrize("arguments", ["timeout=60", "timeout=60, blocking=True"])
@pytest.mark.parametrize("kind", ["stream.sync", "stream.record().sync"])
def test_ctrl_c_ends_a_wait(kind, arguments):
    """contract: D5. While the function that is waited for still runs; the wait may be repeated."""
    result = run_python(f"""
        import os, signal, threading, time
        import hostlaunch
        signal.signal(signal.SIGINT, signal.default_int_handler)
        gate = threading.Event()
        stream = hostlaunch.Stream()
        hostlaunch.host_launch(stream, lambda: gate.wait(60))
        wait = {kind}
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        began = time.monotonic()
        try:
            wait({arguments})
        except KeyboardInterrupt:
            print("interrupted", time.monotonic() - began < 20)
        gate.set()
        wait({arguments})
        print(hostlaunch.stats().ran)
    """)
    assert result.lines == ["interrupted True", "1"]


def test_a_handler_that_raises_nothing_lets_the_wait_go_on():
    """contract: D5."""
    result = run_python("""
        import os, signal, threading
        import hostlaunch
        seen = []
        gate = threading.Event()
        def handler(*_):
            seen.append(1)
            gate.set()
        signal.signal(signal.SIGUSR1, handler)
        stream = hostlaunch.Stream()
        hostlaunch.host_launch(stream, lambda: gate.wait(60))
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        stream.sync(timeout=60)
        print(seen)
    """)
    assert result.lines == ["[1]"]


@pytest.mark.parametrize("setting", ["1", "0", "", None])
def test_the_setting_makes_every_wait_sleep(setting, embedded):
    """contract: D5. The events are made so that the driver sleeps in a wait for them."""
    result = run_python(
        """
        import hostlaunch
        import embedded
        stream = hostlaunch.Stream()
        with embedded.knobs().log() as calls:
            event = stream.record()
            event.sync()
            stream.sync()
        print([call.args[1] for call in calls if call.name == "cuEventCreate"])
        names = [call.name for call in calls]
        print("cuStreamSynchronize" in names, "cuEventSynchronize" in names)
        """,
        env={"HOSTLAUNCH_BLOCKING_SYNC": setting},
    )
    if setting == "1":
        assert result.lines == ["[3, 3]", "False True"]
    else:
        assert result.lines == ["[2]", "True True"]


def test_the_processor_is_left_to_others_during_a_wait(gate):
    """contract: D5. A wait with a limit takes a small part of one, on the embedded driver."""
    stream = hostlaunch.Stream()
    hostlaunch.host_launch(stream, gate)
    began = time.thread_time()
    with pytest.raises(TimeoutError):
        stream.sync(1)
    assert time.thread_time() - began < 0.2
    gate.opened.set()
    wait_until(lambda: stream.record().is_done)
