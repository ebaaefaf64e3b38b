# SPDX-License-Identifier: Apache-2.0
"""Which context a launch works in, and that the calling thread's own is left alone."""

import ctypes
import threading
from contextlib import closing

import pytest

import hostlaunch
import waiting
from fakes import CupyLikeStream, ForeignStream, TorchLikeStream
from hostlaunch import host_launch


def foreign(stream):
    """Present a stream as another library's."""
    return ForeignStream(stream.handle)


@pytest.mark.parametrize("present", [lambda stream: stream, foreign])
@pytest.mark.parametrize("current", [None, 0])
def test_a_created_stream_works_whatever_context_is_current(cu, stream, present, current):
    """contract: O4."""
    ran = []

    def launch_here():
        wanted = None if current is None else cu.primary_context(current)
        cu.set_current(wanted)
        host_launch(present(stream), lambda: ran.append(1))
        assert cu.current_context() == wanted
        stream.sync()
        assert cu.current_context() == wanted

    waiting.bounded(launch_here)
    assert ran == [1]


@pytest.mark.parametrize("present", [lambda stream: stream, foreign])
@pytest.mark.parametrize("current", [None, 0, 1])
def test_a_stream_of_the_second_device_works_whatever_context_is_current(
    cu, two_devices, make_stream, present, current
):
    """contract: O4."""
    stream = make_stream(1)
    ran = []
    wanted = None if current is None else cu.primary_context(current)
    cu.set_current(wanted)
    host_launch(present(stream), lambda: ran.append(1))
    event = stream.record()
    assert cu.current_context() == wanted
    waiting.sync(stream)
    assert event.is_done
    assert ran == [1]
    assert cu.current_context() == wanted


def test_a_thread_without_a_context_can_make_and_use_everything(cu):
    """contract: O4."""
    ran = []

    def use():
        assert cu.current_context() is None
        with hostlaunch.Stream() as stream, closing(hostlaunch.Buffer(16)) as buffer:
            buffer.fill(1, stream=stream)
            host_launch(stream, lambda: ran.append(1))
            stream.record().sync()
            stream.sync()
        assert cu.current_context() is None

    waiting.bounded(use)
    assert ran == [1]


@pytest.mark.parametrize("current", [None, 0])
def test_a_refused_launch_leaves_the_context_as_it_was(cu, embedded, stream, hostfns, current):
    """contract: O4 (also on errors)."""
    wanted = None if current is None else cu.primary_context(current)
    cu.set_current(wanted)
    for fn in (lambda: None, hostfns.count):
        embedded.fail("cuLaunchHostFunc", 2)
        with pytest.raises(hostlaunch.CUDAError):
            host_launch(stream, fn)
        assert cu.current_context() == wanted


def test_an_as_is_launch_leaves_the_context_as_it_was(cu, two_devices, make_stream, hostfns):
    """contract: O4. The event behind it is made in the stream's context."""
    stream = make_stream(1)
    for wanted in (None, cu.primary_context(0)):
        cu.set_current(wanted)
        host_launch(stream, hostfns.count)
        assert cu.current_context() == wanted
    waiting.sync(stream)
    assert hostfns.counter() == 2


def test_objects_that_die_without_a_context_are_destroyed(cu, embedded):
    """contract: O4; section 2."""

    def use():
        cu.set_current(None)
        stream = hostlaunch.Stream(1)
        event = stream.record()
        buffer = hostlaunch.Buffer(64)
        waiting.sync(stream)
        del stream, event, buffer

    before = [embedded.live(kind) for kind in ("streams", "events", "device_memory")]
    waiting.bounded(use)
    after = [embedded.live(kind) for kind in ("streams", "events", "device_memory")]
    assert after == before


@pytest.mark.parametrize("token", [0, 1, 2])
@pytest.mark.parametrize("present", [hostlaunch.Stream.from_handle, ForeignStream])
def test_a_default_stream_means_the_current_context(cu, token, present):
    """contract: O4."""
    ran = []

    def launch_here():
        context = cu.primary_context(0)
        cu.set_current(context)
        host_launch(present(token), lambda: ran.append(1))
        hostlaunch.Stream.from_handle(token).sync()
        assert cu.current_context() == context

    waiting.bounded(launch_here)
    assert ran == [1]


@pytest.mark.parametrize("token", [0, 1, 2])
@pytest.mark.parametrize("present", [hostlaunch.Stream.from_handle, ForeignStream])
def test_a_default_stream_without_a_context_is_refused_with_advice(cu, token, present):
    """contract: O4."""

    def launch_here():
        cu.set_current(None)
        with pytest.raises(RuntimeError, match=r"(?s)current context.*set_current") as caught:
            host_launch(present(token), lambda: None)
        assert not isinstance(caught.value, hostlaunch.CUDAError)
        assert cu.current_context() is None

    before = hostlaunch.stats().accepted
    waiting.bounded(launch_here)
    assert hostlaunch.stats().accepted == before


@pytest.mark.parametrize("carrier", [TorchLikeStream, CupyLikeStream])
@pytest.mark.parametrize("token", [0, 1, 2])
def test_a_default_stream_that_names_its_device_uses_its_primary_context(cu, carrier, token):
    """contract: O4."""
    ran = []

    def launch_here():
        cu.set_current(None)
        host_launch(carrier(token, 0), lambda: ran.append(1))
        assert cu.current_context() is None

    waiting.bounded(launch_here)
    waiting.wait_until(lambda: ran == [1])


@pytest.mark.parametrize("carrier", [TorchLikeStream, CupyLikeStream])
def test_the_named_device_wins_over_the_current_context(
    cu, two_devices, make_stream, gate, carrier
):
    """contract: O4. Device 0 is held by a gate: what runs meanwhile ran on device 1."""
    gate.hold(make_stream(0))
    ran = []
    context = cu.primary_context(0)
    cu.set_current(context)
    host_launch(carrier(0, 1), lambda: ran.append(1))
    assert cu.current_context() == context
    waiting.wait_until(lambda: ran == [1])


def test_a_negative_device_names_none(cu):
    """contract: O4. CuPy's external streams have device_id -1."""
    ran = []
    cu.set_current(cu.primary_context(0))
    host_launch(CupyLikeStream(0, -1), lambda: ran.append(1))
    waiting.wait_until(lambda: ran == [1])
    cu.set_current(None)
    with pytest.raises(RuntimeError, match="current context"):
        host_launch(CupyLikeStream(0, -1), lambda: None)


def test_new_streams_belong_to_the_current_device_else_to_the_first(cu, two_devices, make_stream):
    """contract: O4; section 2: Stream(None)."""

    def look():
        cu.set_current(None)
        assert make_stream().device_id == 0
        cu.set_current(cu.primary_context(1))
        assert make_stream().device_id == 1
        assert make_stream(0).device_id == 0

    waiting.bounded(look)


def test_functions_of_two_devices_run_at_the_same_time(two_devices, make_stream, gate):
    """contract: O1, O2. Each device has a thread of its own."""
    gate.hold(make_stream(0))
    ran = []
    second = make_stream(1)
    host_launch(second, lambda: ran.append(1))
    waiting.sync(second)
    assert ran == [1]


def test_a_context_may_be_destroyed_behind_compiled_functions(cu, embedded, hostfns):
    """contract: L4. The events that the library left in it go with it, and are touched no more."""
    hostfns.reset()
    context = ctypes.c_void_p()

    def use():
        cu.call("cuCtxCreate_v2", ctypes.byref(context), ctypes.c_uint(0), ctypes.c_int(0))
        created = cu.create_stream()
        cu.set_current(cu.primary_context(0))
        host_launch(hostlaunch.Stream.from_handle(created), hostfns.block)
        host_launch(hostlaunch.Stream.from_handle(created), hostfns.count, user_data=bytes(8))

    waiting.bounded(use)
    before = hostlaunch.stats()
    with embedded.log() as calls:
        destroys = threading.Thread(target=cu.call, args=("cuCtxDestroy_v2", context))
        destroys.start()  # waits for both functions
        hostfns.library.hf_open()
        destroys.join(20)
        waiting.wait_until(waiting.is_quiet)
    assert not destroys.is_alive()
    after = hostlaunch.stats()
    assert (after.ran - before.ran) + (after.abandoned - before.abandoned) == 2
    assert [call for call in calls if call.name == "cuEventDestroy" and call.result != 0] == []
