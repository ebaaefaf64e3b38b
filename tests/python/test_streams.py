# SPDX-License-Identifier: Apache-2.0
"""Stream and Event objects."""

import gc
import re
import threading

import pytest

import hostlaunch
import waiting
from hostlaunch import host_launch


def test_a_stream_tells_its_handle_device_and_protocol(make_stream):
    """contract: section 2."""
    stream = make_stream(0)
    assert isinstance(stream.handle, int)
    assert stream.handle > 2
    assert stream.device_id == 0
    assert stream.__cuda_stream__() == (0, stream.handle)
    assert stream.is_closed is False


def test_a_stream_is_a_context_manager():
    """contract: section 2."""
    with hostlaunch.Stream() as stream:
        assert not stream.is_closed
        host_launch(stream, int)
    assert stream.is_closed
    with pytest.raises(ZeroDivisionError), hostlaunch.Stream() as stream:
        1 / 0  # noqa: B018
    assert stream.is_closed


def test_close_may_be_called_twice(make_stream):
    """contract: section 2."""
    stream = make_stream(0)
    event = stream.record()
    for thing in (stream, event):
        assert thing.close() is None
        assert thing.close() is None
        assert thing.is_closed is True


def test_a_closed_stream_refuses_work(make_stream):
    """contract: section 2, S6."""
    stream, other = make_stream(0), make_stream(0)
    event = stream.record()
    stream.close()
    for call in (
        stream.sync,
        stream.record,
        lambda: stream.record(event),
        lambda: stream.wait(event),
        lambda: stream.wait(other),
        lambda: other.wait(stream),
    ):
        with pytest.raises(RuntimeError, match="closed") as caught:
            call()
        assert not isinstance(caught.value, hostlaunch.CUDAError)


def test_a_closed_event_refuses_work(stream):
    """contract: section 2."""
    event = stream.record()
    event.close()
    for call in (
        event.sync,
        lambda: event.is_done,
        lambda: stream.wait(event),
        lambda: stream.record(event),
    ):
        with pytest.raises(RuntimeError, match="closed") as caught:
            call()
        assert not isinstance(caught.value, hostlaunch.CUDAError)


def test_streams_take_priorities_and_flags(make_stream, cu):
    """contract: section 2."""
    for stream in (
        make_stream(0, priority=0),
        make_stream(0, priority=-1),
        make_stream(device_id=0, nonblocking=False, priority=None),
        make_stream(None),
    ):
        ran = []
        host_launch(stream, lambda ran=ran: ran.append(1))
        waiting.sync(stream)
        assert ran == [1]


def test_a_priority_out_of_range_is_an_error():
    """contract: section 2."""
    for priority in (100, -100):
        with pytest.raises((hostlaunch.CUDAError, ValueError)):
            hostlaunch.Stream(0, priority=priority)


@pytest.mark.parametrize("device", [99, 10**6])
def test_a_device_that_does_not_exist_is_an_error(device):
    """contract: section 2."""
    with pytest.raises(hostlaunch.CUDAError) as caught:
        hostlaunch.Stream(device)
    assert caught.value.name == "CUDA_ERROR_INVALID_DEVICE"
    assert caught.value.code == 101


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [(("0",), {}), ((1.5,), {}), ((0, True), {}), ((0,), {"priority": "high"}), ((), {"x": 1})],
)
def test_arguments_of_streams_are_checked(args, kwargs):
    """contract: section 2."""
    with pytest.raises(TypeError):
        hostlaunch.Stream(*args, **kwargs)


def test_a_borrowed_stream_is_never_destroyed(cu, embedded):
    """contract: section 2."""
    cu.set_current(cu.primary_context(0))
    handle = cu.create_stream()
    gc.collect()
    live = embedded.live("streams")
    borrowed = hostlaunch.Stream.from_handle(handle)
    assert borrowed.handle == handle
    assert borrowed.device_id == 0
    host_launch(borrowed, int)
    borrowed.close()
    assert borrowed.is_closed
    del borrowed
    hostlaunch.Stream.from_handle(handle)
    gc.collect()
    assert embedded.live("streams") == live
    waiting.sync(hostlaunch.Stream.from_handle(handle))
    cu.destroy_stream(handle)


@pytest.mark.parametrize("handle", ["0", None, 1.0])
def test_from_handle_takes_an_int(handle):
    """contract: section 2."""
    with pytest.raises(TypeError):
        hostlaunch.Stream.from_handle(handle)


@pytest.mark.parametrize("handle", [-1, 2**64])
def test_from_handle_takes_a_pointer_sized_int(handle):
    """contract: section 2."""
    with pytest.raises((OverflowError, ValueError)):
        hostlaunch.Stream.from_handle(handle)


def test_own_streams_are_destroyed_when_collected(embedded):
    """contract: section 2."""
    live = embedded.live("streams"), embedded.live("events")
    streams = [hostlaunch.Stream(0) for _ in range(5)]
    events = [stream.record() for stream in streams]
    assert embedded.live("streams") == live[0] + 5
    del streams, events
    gc.collect()
    waiting.wait_until(lambda: (embedded.live("streams"), embedded.live("events")) == live)


def test_record_makes_an_event_or_uses_the_given_one(stream, gate):
    """contract: section 2."""
    event = stream.record()
    waiting.bounded(event.sync)
    assert event.is_done is True
    assert isinstance(event.handle, int)
    gate.hold(stream)
    assert stream.record(event) is event
    assert event.is_done is False
    gate.open()
    assert waiting.bounded(event.sync) is None
    assert event.is_done is True


def test_wait_takes_events_and_streams_and_nothing_else(stream, make_stream):
    """contract: section 2."""
    other = make_stream(0)
    assert stream.wait(other) is None
    assert stream.wait(other.record()) is None
    for thing in (None, 5, "x", object()):
        with pytest.raises(TypeError):
            stream.wait(thing)
    for thing in (5, "x", object(), other):
        with pytest.raises(TypeError):
            stream.record(thing)


def test_wait_across_devices(two_devices, make_stream, gate):
    """contract: section 2, O1."""
    first, second = make_stream(0), make_stream(1)
    ran = []
    gate.hold(first)
    host_launch(first, lambda: ran.append("first"))
    second.wait(first)
    host_launch(second, lambda: ran.append("second"))
    assert ran == []
    gate.open()
    waiting.sync(second)
    assert ran == ["first", "second"]


def test_close_races_with_calls_in_progress(embedded):
    """contract: section 2: the last one out destroys."""
    for _ in range(200):
        stream = hostlaunch.Stream(0)
        outcomes = []

        def use(stream=stream, outcomes=outcomes):
            try:
                for _ in range(5):
                    host_launch(stream, int)
                    stream.record().close()
            except RuntimeError as refusal:
                outcomes.append(refusal)

        waiting.run_threads(use, use, stream.close)
        assert all(not isinstance(error, hostlaunch.CUDAError) for error in outcomes)
        assert all("closed" in str(error) for error in outcomes)
        assert stream.is_closed


def test_a_stream_closed_during_a_call_is_destroyed_after_it(embedded, make_stream):
    """contract: section 2: the last one out destroys."""
    stream = make_stream(0)
    destroyed = embedded.calls("cuStreamDestroy")
    with embedded.hold("cuStreamSynchronize") as wait_held:
        worker = threading.Thread(target=stream.sync, daemon=True)
        worker.start()
        wait_held()
        stream.close()
        assert stream.is_closed
        assert embedded.calls("cuStreamDestroy") == destroyed
    worker.join(20)
    waiting.wait_until(lambda: embedded.calls("cuStreamDestroy") == destroyed + 1)


def test_failing_cleanup_raises_nothing(embedded, stream):
    """contract: section 2: close and destructors do not fail."""
    for entry, make in (
        ("cuStreamDestroy", lambda: hostlaunch.Stream(0)),
        ("cuEventDestroy", stream.record),
        ("cuMemFree", lambda: hostlaunch.Buffer(16)),
        ("cuMemFreeHost", lambda: hostlaunch.Buffer(16, kind="pinned")),
    ):
        thing = make()
        embedded.fail(entry, 1)
        thing.close()
        assert thing.is_closed
        thing = make()
        embedded.fail(entry, 1)
        del thing
        gc.collect()


def test_objects_have_a_telling_repr(stream):
    """contract: section 2."""
    assert repr(stream) == f"<hostlaunch.Stream {stream.handle:#x}>"
    assert re.fullmatch(r"<hostlaunch.Event 0x[0-9a-f]+>", repr(stream.record()))
    builder = stream.create_graph_builder().begin_building()
    assert repr(builder) == f"<hostlaunch.GraphBuilder of stream {stream.handle:#x}>"
    nodes = [builder.callback(int) for _ in range(2)]
    assert re.fullmatch(r"<hostlaunch.GraphNode 1 of graph \d+>", repr(nodes[1]))
    assert len(set(map(repr, nodes))) == 2
    graph = builder.end_building().complete()
    assert repr(graph) == f"<hostlaunch.Graph {graph.handle:#x}>"


def test_streams_of_one_handle_are_equal(stream, make_stream):
    """contract: S7."""
    borrowed = hostlaunch.Stream.from_handle(stream.handle)
    other = make_stream(0)
    assert stream == borrowed
    assert (stream != borrowed) is False
    assert hash(stream) == hash(borrowed)
    assert {stream: 1}[borrowed] == 1
    assert stream != other
    assert len({stream, borrowed, other}) == 2
    assert hostlaunch.Stream.from_handle(0) == hostlaunch.Stream.from_handle(0)
    assert hostlaunch.Stream.from_handle(1) != hostlaunch.Stream.from_handle(2)


def test_a_closed_stream_equals_only_itself(stream):
    """contract: S7. Drivers use handles again; the hash stays."""
    borrowed, other = (hostlaunch.Stream.from_handle(stream.handle) for _ in range(2))
    kept = {borrowed: 1}
    before = hash(borrowed)
    borrowed.close()
    assert borrowed == borrowed
    assert borrowed != stream
    assert other == stream
    assert hash(borrowed) == before
    assert kept[borrowed] == 1
    assert other not in kept


def test_other_objects_decide_themselves_whether_they_equal_a_stream(stream):
    """contract: S7."""

    class Other:
        def __eq__(self, other):
            return other is stream

        __hash__ = None

    assert stream == Other()
    assert Other() == stream
    assert stream.__eq__(Other()) is NotImplemented
    assert stream != stream.handle
    assert stream != object()


@pytest.mark.parametrize("name", ["handle", "device_id", "is_closed"])
def test_attributes_are_read_only(stream, name):
    """contract: section 2."""
    with pytest.raises(AttributeError):
        setattr(stream, name, 1)


def test_a_driver_error_has_code_and_name(embedded, stream):
    """contract: section 2: CUDAError."""
    for entry, call, code, name in (
        ("cuStreamSynchronize", stream.sync, 719, "CUDA_ERROR_LAUNCH_FAILED"),
        ("cuEventCreate", stream.record, 2, "CUDA_ERROR_OUT_OF_MEMORY"),
        ("cuStreamCreateWithPriority", hostlaunch.Stream, 2, "CUDA_ERROR_OUT_OF_MEMORY"),
        ("cuMemAlloc", lambda: hostlaunch.Buffer(1), 2, "CUDA_ERROR_OUT_OF_MEMORY"),
    ):
        embedded.fail(entry, code)
        with pytest.raises(hostlaunch.CUDAError) as caught:
            call()
        assert (caught.value.code, caught.value.name) == (code, name)
        assert name in str(caught.value)
        assert entry in str(caught.value)
        call()
