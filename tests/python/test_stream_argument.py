# SPDX-License-Identifier: Apache-2.0
"""What host_launch takes as a stream, and what it says about the rest."""

import ctypes

import pytest

import hostlaunch
import waiting
from fakes import (
    CoreLikeStream,
    CupyLikeStream,
    FakeBuilder,
    ForeignStream,
    Returns,
    TorchLikeStream,
)
from hostfns import CUhostFn
from hostlaunch import host_launch


def refused(error, stream, match=None):
    """Check that the launch is refused and nothing was launched."""
    before = hostlaunch.stats().accepted
    with pytest.raises(error, match=match) as caught:
        host_launch(stream, lambda: None)
    assert hostlaunch.stats().accepted == before
    return caught.value


def test_our_own_streams_are_taken(stream):
    """contract: S2."""
    ran = []
    host_launch(stream, lambda: ran.append(1))
    host_launch(hostlaunch.Stream.from_handle(stream.handle), lambda: ran.append(2))
    waiting.sync(stream)
    assert ran == [1, 2]


@pytest.mark.parametrize(
    "present",
    [
        ForeignStream,
        CoreLikeStream,
        lambda handle: TorchLikeStream(handle, 0),
        lambda handle: CupyLikeStream(handle, 0),
    ],
)
def test_any_object_with_the_stream_protocol_is_taken(stream, present):
    """contract: S3."""
    ran = []
    other = present(stream.handle)
    host_launch(other, lambda: ran.append(1))
    waiting.sync(stream)
    assert ran == [1]
    assert other.asked == 1


def test_our_streams_and_foreign_ones_of_one_handle_are_one_stream(stream, gate):
    """contract: O1, S3."""
    ran = []
    gate.hold(stream)
    for number in range(20):
        carrier = stream if number % 2 else ForeignStream(stream.handle)
        host_launch(carrier, lambda number=number: ran.append(number))
    gate.open()
    waiting.sync(stream)
    assert ran == list(range(20))


@pytest.mark.parametrize("thing", [None, "stream", 1.5, object(), [], {}, len, int])
def test_other_things_are_refused_by_their_type(thing):
    """contract: S4."""
    error = refused(TypeError, thing)
    assert type(thing).__name__ in str(error)
    assert "__cuda_stream__" in str(error)


@pytest.mark.parametrize("number", [0, 1, 7, 2**64 - 1, -1])
def test_a_plain_int_is_refused_with_the_way_to_say_it(number):
    """contract: S4."""
    assert "Stream.from_handle" in str(refused(TypeError, number))


class NotAMethod:
    """The protocol as an attribute instead of a method."""

    def __init__(self, handle):
        self.__cuda_stream__ = (0, handle)


class PropertyInstead:
    """The protocol as a property."""

    @property
    def __cuda_stream__(self):
        return (0, 1)


@pytest.mark.parametrize("thing", [NotAMethod(0), PropertyInstead()])
def test_the_protocol_as_an_attribute_is_refused(thing):
    """contract: S4."""
    assert "__cuda_stream__" in str(refused(TypeError, thing))


@pytest.mark.parametrize(
    "answer", [None, 5, (), (0,), (0, 1, 2), (1, 5), (-1, 5), ("0", 5), (0, None), (0, "5"), "ab"]
)
def test_a_malformed_answer_is_shown(answer):
    """contract: S4."""
    message = str(refused(TypeError, Returns(answer)))
    assert "__cuda_stream__" in message
    assert repr(answer) in message


@pytest.mark.parametrize("number", [-1, 2**64, 10**40])
def test_a_handle_that_is_no_pointer_is_refused(number):
    """contract: S4."""
    assert repr(number) in str(refused(TypeError, Returns((0, number))))


class Number(int):
    """An int of a class of its own."""


@pytest.mark.parametrize("form", [list, lambda answer: (Number(0), Number(answer[1]))])
def test_an_answer_in_another_form_is_read(stream, form):
    """contract: S3."""
    ran = []
    host_launch(Returns(form((0, stream.handle))), lambda: ran.append(1))
    waiting.sync(stream)
    assert ran == [1]


def test_a_method_of_the_object_itself_comes_first(stream):
    """contract: S3. As for any call of a method."""
    thing = Returns((7, 7))
    thing.__cuda_stream__ = lambda: (0, stream.handle)
    ran = []
    host_launch(thing, lambda: ran.append(1))
    waiting.sync(stream)
    assert ran == [1]


class Slotted:
    """A stream without a dictionary, as compiled classes are."""

    __slots__ = ("handle",)

    def __init__(self, handle):
        self.handle = handle

    def __cuda_stream__(self):
        return 0, self.handle


class SlottedAndClosed(Slotted):
    """One that tells whether it is closed from a slot."""

    __slots__ = ("is_closed",)


class SlottedWithHook(Slotted):
    """One whose attributes come from a hook."""

    __slots__ = ()

    def __getattr__(self, name):
        if name == "is_closed":
            return True
        raise AttributeError(name)


def test_a_stream_without_a_dictionary_is_taken(stream):
    """contract: S3, S6."""
    ran = []
    host_launch(Slotted(stream.handle), lambda: ran.append(1))
    not_closed = SlottedAndClosed(stream.handle)
    not_closed.is_closed = False
    host_launch(not_closed, lambda: ran.append(2))
    waiting.sync(stream)
    assert ran == [1, 2]


def test_a_closed_stream_without_a_dictionary_is_refused(stream):
    """contract: S6."""
    closed = SlottedAndClosed(stream.handle)
    closed.is_closed = True
    refused(RuntimeError, closed, "closed")
    refused(RuntimeError, SlottedWithHook(stream.handle), "closed")


def test_a_method_that_is_replaced_while_it_runs_is_kept(stream):
    """contract: S3."""

    class Changing(Slotted):
        __slots__ = ()

        def __cuda_stream__(self):
            del Changing.__cuda_stream__
            return 0, self.handle

    ran = []
    host_launch(Changing(stream.handle), lambda: ran.append(1))
    waiting.sync(stream)
    assert ran == [1]


@pytest.mark.parametrize("error", [ValueError("mine"), KeyError("k"), RuntimeError("gone")])
def test_an_exception_of_the_protocol_passes_through(error):
    """contract: S4."""
    assert refused(type(error), Returns(error)) is error


def test_a_closed_stream_is_refused(make_stream):
    """contract: S6."""
    stream = make_stream(0)
    stream.close()
    error = refused(RuntimeError, stream, "closed")
    assert not isinstance(error, hostlaunch.CUDAError)


def test_a_closed_foreign_stream_is_refused(stream):
    """contract: S6."""
    other = CoreLikeStream(stream.handle)
    other.is_closed = True
    error = refused(RuntimeError, other, "closed")
    assert not isinstance(error, hostlaunch.CUDAError)


def test_a_closed_stream_reaches_no_driver_call(make_stream, embedded):
    """contract: S6, U5."""
    stream = make_stream(0)
    stream.close()
    with embedded.log() as calls:
        refused(RuntimeError, stream)
    assert [call.name for call in calls if call.name != "cuThreadExchangeStreamCaptureMode"] == []


def test_a_builder_gets_the_function_and_its_data_once(stream):
    """contract: S1."""
    builder = FakeBuilder()
    fn, thunk = (lambda: None), CUhostFn(lambda pointer: None)
    data = b"payload"
    assert host_launch(builder, fn) is None
    assert host_launch(builder, thunk, user_data=data) is None
    assert [(id(f), id(d)) for f, d in builder.forwarded] == [
        (id(fn), id(None)),
        (id(thunk), id(data)),
    ]
    assert builder.asked_for_stream == 0


def test_a_builder_that_is_not_building_is_refused():
    """contract: S1, S6."""
    builder = FakeBuilder(building=False)
    refused(RuntimeError, builder)
    assert builder.forwarded == []


@pytest.mark.parametrize("reason", [ValueError("closed builder"), RuntimeError("no")])
def test_a_builder_that_cannot_tell_is_refused(reason):
    """contract: S1, S6."""
    builder = FakeBuilder(building=reason)
    refused(RuntimeError, builder)
    assert builder.forwarded == []


def test_a_closed_builder_is_refused():
    """contract: S6."""
    builder = FakeBuilder()
    builder.is_closed = True
    refused(RuntimeError, builder)
    assert builder.forwarded == []


@pytest.mark.parametrize(
    ("fn", "user_data", "error"),
    [
        (3, None, TypeError),
        (None, None, TypeError),
        (CUhostFn(), None, ValueError),
        (ctypes.CFUNCTYPE(None)(lambda: None), None, TypeError),
        (lambda: None, b"x", ValueError),
        (lambda: None, 0, ValueError),
        (CUhostFn(len), "text", TypeError),
        (CUhostFn(len), True, TypeError),
        (CUhostFn(len), -1, OverflowError),
    ],
)
@pytest.mark.parametrize("building", [True, False])
def test_the_rules_of_function_and_data_come_before_the_builder(fn, user_data, error, building):
    """contract: S1."""
    builder = FakeBuilder(building)
    with pytest.raises(error):
        host_launch(builder, fn, user_data=user_data)
    assert builder.forwarded == []


def test_what_the_builder_raises_passes_through():
    """contract: S1."""

    class Failing(FakeBuilder):
        def callback(self, fn, *, user_data=None):
            raise LookupError("full")

    with pytest.raises(LookupError, match="full"):
        host_launch(Failing(), lambda: None)


def test_only_the_type_makes_a_builder(stream):
    """contract: S1."""
    other = ForeignStream(stream.handle)
    other.callback = lambda *_, **__: pytest.fail("taken for a builder")
    other.is_building = True
    ran = []
    host_launch(other, lambda: ran.append(1))
    waiting.sync(stream)
    assert ran == [1]


def test_the_signature_is_strict(stream):
    """contract: section 1."""
    for args, kwargs in [
        ((), {}),
        ((stream,), {}),
        ((stream, len, b"x"), {}),
        ((stream, len), {"data": b"x"}),
        ((stream, len), {"user_data": None, "more": 1}),
    ]:
        with pytest.raises(TypeError):
            host_launch(*args, **kwargs)
    ran = []
    host_launch(stream=stream, fn=lambda: ran.append(1))
    waiting.sync(stream)
    assert ran == [1]


@pytest.mark.parametrize("handle", [0xDEAD0000, 0x10, 2**47 + 8, 2**64 - 8])
def test_a_handle_that_the_embedded_driver_did_not_make_is_an_error(embedded, handle):
    """contract: D3."""
    for stream in (hostlaunch.Stream.from_handle(handle), ForeignStream(handle)):
        with pytest.raises(hostlaunch.CUDAError) as caught:
            host_launch(stream, lambda: None)
        assert (caught.value.code, caught.value.name) == (400, "CUDA_ERROR_INVALID_HANDLE")
