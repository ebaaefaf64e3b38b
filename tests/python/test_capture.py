# SPDX-License-Identifier: Apache-2.0
"""Captures in progress are neither joined, nor harmed, nor a reason to harm anything."""

import ctypes
import gc
import threading

import pytest

import cudriver
import hostlaunch
import waiting
from fakes import ForeignStream
from hostlaunch import host_launch

MODES = [cudriver.GLOBAL, cudriver.THREAD_LOCAL, cudriver.RELAXED]


def refused(stream, fn, **kwargs):
    """Check that the launch is refused as misuse, not by the driver."""
    before = hostlaunch.stats().accepted
    with pytest.raises(RuntimeError, match="captur") as caught:
        host_launch(stream, fn, **kwargs)
    assert not isinstance(caught.value, hostlaunch.CUDAError)
    assert hostlaunch.stats().accepted == before


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("present", [lambda s: s, lambda s: ForeignStream(s.handle)])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_capturing_stream_is_refused_and_goes_on_capturing(
    cu, stream, hostfns, mode, present, compiled
):
    """contract: S5."""
    ran = []
    fn, kwargs = (lambda: ran.append(1)), {}
    if compiled:
        fn, kwargs = hostfns.count, {"user_data": b"x"}
    cu.begin_capture(stream.handle, mode)
    refused(present(stream), fn, **kwargs)
    assert cu.capture_status(stream.handle) == cudriver.ACTIVE
    assert cu.end_capture(stream.handle) == 0  # nothing was recorded
    host_launch(present(stream), fn, **kwargs)
    waiting.sync(stream)
    assert len(ran) + hostfns.counter() == 1


@pytest.mark.parametrize("mode", MODES)
def test_a_capturing_stream_is_refused_from_another_thread(cu, stream, mode):
    """contract: S5."""
    cu.begin_capture(stream.handle, mode)
    waiting.bounded(refused, stream, int)
    assert cu.capture_status(stream.handle) == cudriver.ACTIVE
    assert cu.end_capture(stream.handle) == 0


def test_a_stream_whose_capture_was_invalidated_is_refused(cu, stream):
    """contract: S5. Once the capture has ended the stream works again."""
    cu.begin_capture(stream.handle)
    cu.invalidate_capture(stream.handle)
    assert cu.capture_status(stream.handle) == cudriver.INVALIDATED
    refused(stream, int)
    assert cu.capture_status(stream.handle) == cudriver.INVALIDATED
    with pytest.raises(cudriver.DriverError):
        cu.end_capture(stream.handle)
    ran = []
    host_launch(stream, lambda: ran.append(1))
    waiting.sync(stream)
    assert ran == [1]


@pytest.mark.parametrize("mode", MODES)
def test_the_default_stream_is_refused_while_a_blocking_stream_captures(cu, make_stream, mode):
    """contract: S5. The capture stays valid."""
    blocking = make_stream(0, nonblocking=False)
    cu.set_current(cu.primary_context(0))
    cu.begin_capture(blocking.handle, mode)
    for stream in (hostlaunch.Stream.from_handle(0), ForeignStream(1)):
        refused(stream, int)
    assert cu.capture_status(blocking.handle) == cudriver.ACTIVE
    assert cu.end_capture(blocking.handle) == 0


def test_the_default_stream_works_while_a_nonblocking_stream_captures(cu, stream):
    """contract: S5."""
    cu.set_current(cu.primary_context(0))
    cu.begin_capture(stream.handle, cudriver.RELAXED)
    ran = []
    host_launch(hostlaunch.Stream.from_handle(0), lambda: ran.append(1))
    assert cu.capture_status(stream.handle) == cudriver.ACTIVE
    assert cu.end_capture(stream.handle) == 0
    waiting.wait_until(lambda: ran == [1])


@pytest.mark.parametrize("mode", MODES)
def test_other_streams_work_during_a_capture(cu, make_stream, hostfns, mode):
    """contract: S5, G4."""
    capturing, other = make_stream(0), make_stream(0)
    ran = []
    cu.begin_capture(capturing.handle, mode)
    host_launch(other, lambda: ran.append(1))
    host_launch(other, hostfns.count, user_data=b"x")
    waiting.wait_until(lambda: hostfns.counter() == 1)
    waiting.wait_until(waiting.is_quiet)
    assert cu.capture_status(capturing.handle) == cudriver.ACTIVE
    assert cu.end_capture(capturing.handle) == 0
    assert ran == [1]


@pytest.mark.parametrize("same_thread", [True, False])
def test_background_calls_and_finalizers_do_not_harm_a_capture(
    cu, make_stream, hostfns, same_thread
):
    """contract: G4. As-is launches end and CUDA objects are destroyed during the capture."""
    capturing, other = make_stream(0), make_stream(0)
    doomed = [
        (hostlaunch.Stream(0), hostlaunch.Buffer(64), hostlaunch.Buffer(64, kind="pinned"))
        for _ in range(3)
    ]
    events = [stream.record() for stream, *_ in doomed]
    host_launch(other, hostfns.block)
    for _ in range(5):
        host_launch(other, hostfns.count, user_data=bytes(100))
    assert hostfns.library.hf_wait_blocked(20_000)
    begun, ended = threading.Event(), threading.Event()
    nodes = []

    def capture():
        cu.begin_capture(capturing.handle, cudriver.GLOBAL)
        begun.set()
        if not same_thread:
            assert ended.wait(30)
            assert cu.capture_status(capturing.handle) == cudriver.ACTIVE
            nodes.append(cu.end_capture(capturing.handle))

    worker = threading.Thread(target=capture, daemon=True)
    if same_thread:
        capture()
    else:
        worker.start()
    assert begun.wait(20)
    host_launch(other, int)
    hostfns.library.hf_open()
    waiting.wait_until(waiting.is_quiet)  # the events behind were queried and destroyed
    events[0].close()
    doomed[0][1].close()
    del events, doomed
    gc.collect()
    assert cu.capture_status(capturing.handle) == cudriver.ACTIVE
    ended.set()
    if same_thread:
        nodes.append(cu.end_capture(capturing.handle))
    else:
        worker.join(30)
    assert nodes == [0]


def test_the_threads_capture_mode_is_put_back(cu, stream, hostfns):
    """contract: G4."""

    def exchange(mode):
        value = ctypes.c_int(mode)
        cu.call("cuThreadExchangeStreamCaptureMode", ctypes.byref(value))
        return value.value

    def use():
        for mode in MODES:
            exchange(mode)
            host_launch(stream, int)
            host_launch(stream, hostfns.count, user_data=b"x")
            stream.record().close()
            stream.sync()
            hostlaunch.Buffer(16).close()
            assert exchange(mode) == mode

    waiting.bounded(use)
