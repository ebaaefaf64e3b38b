# SPDX-License-Identifier: Apache-2.0
"""What stands for an int, and messages about what does not."""

import mmap

import pytest

import hostlaunch
import waiting
from fakes import Returns
from hostfns import CUhostFn
from hostlaunch import Buffer, Stream, host_launch

numpy = pytest.importorskip("numpy")


class Index:
    """Stands for an int."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


class Raises:
    """Raises where it is asked for the int that it stands for."""

    def __index__(self):
        raise LookupError("no int today")


class Hidden:
    """Cannot be shown."""

    def __repr__(self):
        raise RuntimeError("not to be seen")


KINDS = [Index, numpy.int64, numpy.uint64]


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_is_what_has_an_index(stream, kind):
    """contract: U2. Handles, sizes, values, devices and priorities."""
    with Stream(kind(0), priority=kind(0)) as made:
        assert made.device_id == 0
    assert Stream.from_handle(kind(stream.handle)).handle == stream.handle
    buffer = Buffer(kind(4), kind="pinned", device_id=kind(0))
    buffer.fill(kind(7), stream=stream)
    stream.sync()
    assert bytes(buffer) == b"\7\7\7\7"


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_may_be_told_by_such_numbers(stream, kind):
    """contract: U2, S3."""
    ran = []
    host_launch(Returns((kind(0), kind(stream.handle))), lambda: ran.append(1))
    host_launch(Returns([0, kind(stream.handle)]), lambda: ran.append(2))
    waiting.sync(stream)
    assert ran == [1, 2]


@pytest.mark.parametrize("kind", [Index, lambda value: numpy.int64(value).item()])
def test_a_pointer_may_be_given_by_such_a_number(stream, kind):
    """contract: U2."""
    seen = []
    host_launch(stream, CUhostFn(seen.append), user_data=kind(5))
    waiting.sync(stream)
    assert seen == [5]
    for value in (-1, 2**64):
        with pytest.raises(OverflowError):
            host_launch(stream, CUhostFn(seen.append), user_data=Index(value))


def test_a_scalar_of_numpy_is_ambiguous_as_user_data(stream):
    """contract: U4."""
    with pytest.raises(TypeError, match=r"int\(x\)"):
        host_launch(stream, CUhostFn(print), user_data=numpy.int64(5))


TAKERS = {
    "device": lambda value: Stream(value),
    "priority": lambda value: Stream(0, priority=value),
    "handle": Stream.from_handle,
    "size": Buffer,
    "device of a buffer": lambda value: Buffer(4, device_id=value),
    "value": lambda value: Buffer(4).fill(value, stream=Stream(0)),
    "answer": lambda value: host_launch(Returns((0, value)), int),
    "version": lambda value: host_launch(Returns((value, 0)), int),
}


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("value", [True, False, numpy.bool_(True), 1.0, "1"])
def test_a_bool_is_no_number(taker, value):
    """contract: U2. `(0, True)` is not the stream with the handle 1."""
    with pytest.raises(TypeError):
        TAKERS[taker](value)


@pytest.mark.parametrize("taker", TAKERS)
def test_what_the_index_raises_passes_through(taker):
    """contract: U2, S4."""
    with pytest.raises(LookupError, match="no int today"):
        TAKERS[taker](Raises())


@pytest.mark.parametrize("answer", [Hidden(), (0, Hidden()), [Hidden()]])
def test_an_answer_that_cannot_be_shown_is_refused_all_the_same(answer):
    """contract: S4. What its repr raises does not hide what is wrong."""
    with pytest.raises(TypeError, match=r"__cuda_stream__\(\) must return \(0, handle\)"):
        host_launch(Returns(answer), int)


def hidden_coroutine():
    class Callable(Hidden):
        async def __call__(self):
            pass

    return Callable()


def hidden_attribute():
    stream = type("Carrier", (), {})()
    stream.__cuda_stream__ = Hidden()
    return stream


def test_other_refusals_show_what_they_can(stream):
    """contract: S4, F3. Whatever a repr raises."""
    with pytest.raises(TypeError, match="coroutine"):
        host_launch(stream, hidden_coroutine())
    with pytest.raises(TypeError, match="must be a method"):
        host_launch(hidden_attribute(), int)
    # More digits than Python writes out.
    for call in (Stream.from_handle, Buffer):
        with pytest.raises((OverflowError, ValueError), match=r"handle must be|too large"):
            call(10**5000)


def released():
    view = memoryview(bytearray(8))
    view.release()
    return view


def closed():
    memory = mmap.mmap(-1, 8)
    memory.close()
    return memory


def closed_buffer():
    buffer = Buffer(8, kind="pinned")
    buffer.close()
    return buffer


@pytest.mark.parametrize(
    ("make", "reason"),
    [(released, "released memoryview"), (closed, "mmap closed"), (closed_buffer, "is closed")],
)
def test_memory_that_is_gone_is_refused_with_the_reason(stream, make, reason):
    """contract: U3. It is contiguous or not: there is none."""
    with pytest.raises(BufferError, match=reason) as caught:
        host_launch(stream, CUhostFn(print), user_data=make())
    assert "contiguous" not in str(caught.value)


@pytest.mark.parametrize(
    "data", [numpy.arange(10)[::2], memoryview(bytearray(10))[::2]], ids=["numpy", "memoryview"]
)
def test_memory_with_gaps_is_refused_as_such(stream, data):
    """contract: U3."""
    with pytest.raises(BufferError, match="contiguous"):
        host_launch(stream, CUhostFn(print), user_data=data)


def test_the_handle_of_a_closed_object_is_not_told(stream):
    """contract: S6. A driver may use it again, or crash on it."""
    builder = stream.create_graph_builder().begin_building()
    builder.callback(int)
    graph = builder.end_building().complete()
    made = {
        "stream": Stream(0),
        "event": stream.record(),
        "buffer": Buffer(4),
        "graph": graph,
        "graph builder": builder,
    }
    borrowed = Stream.from_handle(stream.handle)
    for what, thing in [*made.items(), ("stream", borrowed)]:
        thing.close()
        for name in ("handle", "__cuda_stream__"):
            if not hasattr(type(thing), name):
                continue
            with pytest.raises(RuntimeError, match=f": the {what} is closed$") as caught:
                getattr(thing, name)()
            assert not isinstance(caught.value, hostlaunch.CUDAError)
        assert "closed" in repr(thing)
