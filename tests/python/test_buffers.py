# SPDX-License-Identifier: Apache-2.0
"""Buffers: memory to order host functions against."""

import gc
from contextlib import closing

import pytest

import hostlaunch
import waiting
from fakes import ForeignStream
from hostlaunch import Buffer, host_launch


@pytest.fixture
def pinned():
    """Make a pinned buffer of 64 bytes."""
    with closing(Buffer(64, kind="pinned")) as buffer:
        yield buffer


def test_a_buffer_tells_its_size_and_address():
    """contract: section 2."""
    for kind in ("device", "pinned"):
        buffer = Buffer(100, kind=kind)
        assert buffer.nbytes == 100
        assert isinstance(buffer.handle, int)
        assert buffer.handle > 0
        assert buffer.is_closed is False
        buffer.close()
        buffer.close()
        assert buffer.is_closed is True


def test_pinned_memory_is_a_writable_buffer(pinned):
    """contract: section 2."""
    view = memoryview(pinned)
    assert not view.readonly
    assert view.nbytes == 64
    assert view.contiguous
    flat = view.cast("B")
    flat[:] = bytes(range(64))
    assert bytes(pinned) == bytes(range(64))
    flat.release()
    view.release()


def test_numpy_reads_and_writes_pinned_memory(pinned):
    """contract: section 2."""
    numpy = pytest.importorskip("numpy")
    array = numpy.frombuffer(pinned, dtype="u1")
    array[:] = 7
    assert array.flags.writeable
    assert bytes(pinned) == bytes([7]) * 64


def test_device_memory_is_no_host_buffer():
    """contract: section 2."""
    with closing(Buffer(64)) as buffer, pytest.raises((TypeError, BufferError)):
        memoryview(buffer)


def test_data_travels_to_the_device_and_back(stream):
    """contract: section 2, O1."""
    with (
        closing(Buffer(1000, kind="pinned")) as source,
        closing(Buffer(1000)) as device,
        closing(Buffer(1000)) as other,
        closing(Buffer(1000, kind="pinned")) as target,
    ):
        memoryview(source).cast("B")[:] = bytes(i % 251 for i in range(1000))
        assert source.copy_to(device, stream=stream) is None
        assert other.copy_from(device, stream=stream) is None
        assert other.copy_to(target, stream=stream) is None
        waiting.sync(stream)
        assert bytes(target) == bytes(source) == bytes(i % 251 for i in range(1000))


@pytest.mark.parametrize("value", [0, 1, 255])
def test_fill_sets_every_byte(stream, pinned, value):
    """contract: section 2."""
    assert pinned.fill(value, stream=stream) is None
    waiting.sync(stream)
    assert bytes(pinned) == bytes([value]) * 64


@pytest.mark.parametrize("value", [-1, 256, 10**9])
def test_fill_takes_a_byte(stream, pinned, value):
    """contract: section 2."""
    with pytest.raises((ValueError, OverflowError)):
        pinned.fill(value, stream=stream)


@pytest.mark.parametrize("value", ["x", None, 1.5])
def test_fill_takes_an_int(stream, pinned, value):
    """contract: section 2."""
    with pytest.raises(TypeError):
        pinned.fill(value, stream=stream)


def test_sizes_that_do_not_match_are_refused(stream, pinned):
    """contract: section 2."""
    with closing(Buffer(65)) as other:
        for call in (pinned.copy_to, pinned.copy_from, other.copy_to, other.copy_from):
            with pytest.raises(ValueError, match=r"64|65"):
                call(other if call.__self__ is pinned else pinned, stream=stream)


def test_operations_want_a_stream_by_keyword(pinned):
    """contract: section 2."""
    with pytest.raises(TypeError):
        pinned.fill(1)
    with pytest.raises(TypeError):
        pinned.copy_to(pinned)
    for thing in (None, 5, object()):
        with pytest.raises(TypeError):
            pinned.fill(1, stream=thing)


def test_operations_take_foreign_streams(stream, pinned):
    """contract: section 2, S3."""
    pinned.fill(9, stream=ForeignStream(stream.handle))
    waiting.sync(stream)
    assert bytes(pinned) == bytes([9]) * 64


@pytest.mark.parametrize("thing", [None, b"bytes", bytearray(64), 5])
def test_copies_are_between_buffers(stream, pinned, thing):
    """contract: section 2."""
    with pytest.raises(TypeError):
        pinned.copy_to(thing, stream=stream)
    with pytest.raises(TypeError):
        pinned.copy_from(thing, stream=stream)


@pytest.mark.parametrize(
    ("args", "kwargs", "error"),
    [
        ((0,), {}, ValueError),
        ((-1,), {}, (ValueError, OverflowError)),
        (("64",), {}, TypeError),
        ((1.5,), {}, TypeError),
        ((64,), {"kind": "managed"}, ValueError),
        ((64,), {"kind": 5}, (TypeError, ValueError)),
        ((64, "pinned"), {}, TypeError),
        ((64,), {"device_id": "0"}, TypeError),
        ((64,), {"device_id": 99}, hostlaunch.CUDAError),
    ],
)
def test_arguments_of_buffers_are_checked(args, kwargs, error):
    """contract: section 2."""
    with pytest.raises(error):
        Buffer(*args, **kwargs)


def test_a_closed_buffer_refuses_work(stream, pinned):
    """contract: section 2."""
    other = Buffer(64, kind="pinned")
    other.close()
    for call in (
        lambda: other.fill(1, stream=stream),
        lambda: other.copy_to(pinned, stream=stream),
        lambda: other.copy_from(pinned, stream=stream),
        lambda: pinned.copy_to(other, stream=stream),
        lambda: pinned.copy_from(other, stream=stream),
    ):
        with pytest.raises(RuntimeError, match="closed") as caught:
            call()
        assert not isinstance(caught.value, hostlaunch.CUDAError)
    with pytest.raises((RuntimeError, BufferError, ValueError)):
        memoryview(other)


def test_memory_stays_valid_while_somebody_views_it(embedded):
    """contract: section 2. Closing is refused or put off while the buffer is exported."""
    live = embedded.live("host_memory")
    buffer = Buffer(64, kind="pinned")
    view = memoryview(buffer).cast("B")
    try:
        buffer.close()
    except BufferError:
        assert not buffer.is_closed
    view[:] = bytes(64)  # never a crash
    assert embedded.live("host_memory") == live + 1
    view.release()
    del view
    gc.collect()
    buffer.close()
    del buffer
    gc.collect()
    waiting.wait_until(lambda: embedded.live("host_memory") == live)


def test_buffers_are_freed_when_collected(embedded):
    """contract: section 2."""
    live = embedded.live("host_memory"), embedded.live("device_memory")
    buffers = [Buffer(64), Buffer(64, kind="pinned"), Buffer(64, kind="pinned")]
    views = [memoryview(buffers[1])]
    del buffers
    gc.collect()
    assert embedded.live("host_memory") == live[0] + 1
    del views
    gc.collect()
    now = embedded.live("host_memory"), embedded.live("device_memory")
    assert now == live


def test_operations_of_two_devices(two_devices, make_stream):
    """contract: O4, section 2."""
    stream = make_stream(1)
    with (
        closing(Buffer(64, device_id=1)) as device,
        closing(Buffer(64, kind="pinned", device_id=1)) as host,
    ):
        device.fill(3, stream=stream)
        device.copy_to(host, stream=stream)
        seen = []
        host_launch(stream, lambda: seen.append(bytes(host)))
        waiting.sync(stream)
    assert seen == [bytes([3]) * 64]
