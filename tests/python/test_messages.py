# SPDX-License-Identifier: Apache-2.0
"""What calls with wrong or closed things say: one sentence that names the argument or object."""

import pytest

import hostlaunch
from fakes import CoreLikeStream, CupyLikeStream, TorchLikeStream
from hostlaunch import Buffer, Event, Graph, GraphBuilder, GraphNode, Stream, host_launch


@pytest.fixture
def buffer():
    """Make a small device buffer."""
    made = Buffer(16)
    yield made
    made.close()


@pytest.fixture
def graph(make_stream):
    """Make a graph with one node."""
    stream = make_stream(0)
    builder = stream.create_graph_builder().begin_building()
    builder.callback(int)
    made = builder.end_building().complete()
    builder.close()
    yield made
    made.close()


STREAM_TAKEN = "must be a hostlaunch.Stream, a graph builder, or an object with a __cuda_stream__"
WRONG = {
    "wait": (lambda t: t.stream.wait(t.thing), "event_or_stream must be a hostlaunch.Event, a "),
    "record": (lambda t: t.stream.record(t.thing), "event must be a hostlaunch.Event"),
    "fill stream": (lambda t: t.buffer.fill(1, stream=t.thing), f"stream {STREAM_TAKEN}"),
    "fill value": (lambda t: t.buffer.fill(t.thing, stream=t.stream), "value must be an int"),
    "copy_to": (
        lambda t: t.buffer.copy_to(t.thing, stream=t.stream),
        "dst must be a hostlaunch.Buffer",
    ),
    "copy_from": (
        lambda t: t.buffer.copy_from(t.thing, stream=t.stream),
        "src must be a hostlaunch.Buffer",
    ),
    "copy stream": (
        lambda t: t.buffer.copy_to(t.buffer, stream=t.thing),
        f"stream {STREAM_TAKEN}",
    ),
    "nbytes": (lambda t: Buffer(t.thing), "nbytes must be an int"),
    "kind": (lambda t: Buffer(16, kind=t.thing), "kind must be a str"),
    "buffer device": (lambda t: Buffer(16, device_id=t.thing), "device_id must be an int"),
    "stream device": (lambda t: Stream(t.thing), "device_id must be an int"),
    "nonblocking": (lambda t: Stream(nonblocking=t.thing), "nonblocking must be a bool"),
    "priority": (lambda t: Stream(priority=t.thing), "priority must be an int"),
    "from_handle": (lambda t: Stream.from_handle(t.thing), "handle must be an int"),
    "attach": (lambda t: GraphBuilder.attach(t.thing), f"stream {STREAM_TAKEN}"),
    "mode": (
        lambda t: t.stream.create_graph_builder().begin_building(t.thing),
        "mode must be a str",
    ),
    "callback": (
        lambda t: t.stream.create_graph_builder().callback(t.thing),
        "fn must be a Python callable",
    ),
    "launch": (lambda t: t.graph.launch(t.thing), f"stream {STREAM_TAKEN}"),
    "upload": (lambda t: t.graph.upload(t.thing), f"stream {STREAM_TAKEN}"),
    "update": (lambda t: t.graph.update(t.thing), "builder must be a hostlaunch.GraphBuilder"),
    "update_callback": (
        lambda t: t.graph.update_callback(t.thing, int),
        "node must be a hostlaunch.GraphNode",
    ),
    "host_launch": (lambda t: host_launch(t.thing, int), f"stream {STREAM_TAKEN}"),
    "self of sync": (lambda t: Stream.sync(t.thing), "self must be a hostlaunch.Stream"),
    "self of record": (lambda t: Stream.record(t.thing), "self must be a hostlaunch.Stream"),
    "self of builder": (
        lambda t: Stream.create_graph_builder(t.thing),
        "self must be a hostlaunch.Stream",
    ),
    "self of close": (lambda t: Buffer.close(t.thing), "self must be a hostlaunch.Buffer"),
    "self of complete": (
        lambda t: GraphBuilder.complete(t.thing),
        "self must be a hostlaunch.GraphBuilder",
    ),
}
MAY_BE_NONE = {"record", "buffer device", "stream device", "priority"}


class Things:
    """What the cases work on."""

    def __init__(self, thing, stream, buffer, graph):
        self.thing, self.stream, self.buffer, self.graph = thing, stream, buffer, graph


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("thing", [None, 2.5, object()])
def test_a_wrong_argument_is_named_with_what_it_is(stream, buffer, graph, name, thing):
    """contract: section 2."""
    if thing is None and (name in MAY_BE_NONE or name.startswith("self")):
        pytest.skip("None is allowed there, or refused by the class")
    call, text = WRONG[name]
    with pytest.raises(TypeError) as caught:
        call(Things(thing, stream, buffer, graph))
    message = str(caught.value)
    assert text in message
    assert type(thing).__name__ in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: Buffer(2**63), "nbytes is too large: 9223372036854775808"),
        (lambda: Buffer(2**70), "nbytes is too large"),
        (lambda: Buffer(0), "nbytes must be positive, not 0"),
        (lambda: Buffer(-(2**70)), "nbytes must be positive"),
        (lambda: Buffer(16, kind="gpu"), "kind must be 'device' or 'pinned', not 'gpu'"),
        (lambda: Buffer(16, kind="\udc80"), "kind must be 'device' or 'pinned'"),
        (lambda: Buffer(16, device_id=2**70), "device_id is out of range"),
        (lambda: Stream(2**70), "device_id is out of range"),
        (lambda: Stream(priority=-(2**70)), "priority is out of range"),
        (lambda: host_launch(TorchLikeStream(0, 2**70), int), "a device out of range"),
        (lambda: host_launch(CupyLikeStream(0, 2**31), int), "a device out of range"),
        (lambda: Stream(0).create_graph_builder().begin_building("fast"), "mode must be 'relaxed'"),
    ],
)
def test_a_value_out_of_range_is_a_value_error(call, text):
    """contract: section 2, O4."""
    with pytest.raises(ValueError, match=text):
        call()


@pytest.mark.parametrize("handle", [-1, 2**64, 2**70])
def test_a_handle_out_of_range_is_told_its_range(handle):
    """contract: section 2."""
    with pytest.raises(OverflowError, match=r"handle must be from 0 to 2\*\*64 - 1"):
        Stream.from_handle(handle)


@pytest.mark.parametrize("thing", [Stream, Event, Buffer, Graph, GraphBuilder])
def test_what_new_made_without_init_refuses_each_call(thing, stream, buffer, graph):
    """contract: section 2. Also a subclass that forgets to call the base's __init__."""
    for empty in (thing.__new__(thing), type("Mine", (thing,), {"__init__": lambda _: None})()):
        calls = [
            lambda empty=empty, name=name: call_plainly(empty, name)
            for name in dir(thing)
            if not name.startswith("_") and name not in ("from_handle", "attach")
        ]
        assert len(calls) >= 4
        for call in calls:
            with pytest.raises(TypeError, match=f"an empty hostlaunch.{thing.__name__}: it was"):
                call()


def call_plainly(thing, name):
    """Read an attribute, and call it with whatever if it is a method."""
    found = getattr(thing, name)
    arguments = {
        "wait": ((0,), {}),
        "fill": ((0,), {"stream": 0}),
        "copy_to": ((0,), {"stream": 0}),
        "copy_from": ((0,), {"stream": 0}),
        "callback": ((0,), {}),
        "launch": ((0,), {}),
        "upload": ((0,), {}),
        "update": ((0,), {}),
        "update_callback": ((0, 0), {}),
    }
    given, named = arguments.get(name, ((), {}))
    found(*given, **named)


def test_what_new_made_without_init_is_refused_as_an_argument(stream, buffer, graph):
    """contract: section 2."""

    def empty(thing):
        return thing.__new__(thing)

    for call, text in (
        (lambda: stream.record(empty(Event)), "event is an empty hostlaunch.Event"),
        (lambda: stream.wait(empty(Event)), "event_or_stream is an empty hostlaunch.Event"),
        (lambda: stream.wait(empty(Stream)), "an empty hostlaunch.Stream"),
        (lambda: host_launch(empty(Stream), int), "an empty hostlaunch.Stream"),
        (lambda: buffer.fill(1, stream=empty(Stream)), "an empty hostlaunch.Stream"),
        (lambda: buffer.copy_to(empty(Buffer), stream=stream), "dst is an empty hostlaunch.Buffer"),
        (lambda: graph.update(empty(GraphBuilder)), "builder is an empty hostlaunch.GraphBuilder"),
        (
            lambda: graph.update_callback(empty(GraphNode), int),
            "node is an empty hostlaunch.GraphNode",
        ),
        (lambda: repr(empty(Stream)), "an empty hostlaunch.Stream"),
        (lambda: empty(GraphBuilder).__cuda_stream__(), "an empty hostlaunch.GraphBuilder"),
    ):
        with pytest.raises(TypeError, match=text):
            call()
    with pytest.raises(RuntimeError, match="not building"):
        host_launch(empty(GraphBuilder), int)
    with pytest.raises(BufferError, match="not initialised"):
        memoryview(empty(Buffer))


def test_a_refusal_names_what_is_closed(make_stream, buffer, graph):
    """contract: S6, section 2."""
    stream, closed, foreign = make_stream(0), make_stream(0), CoreLikeStream(0)
    event, target = stream.record(), Buffer(16)
    builder = stream.create_graph_builder()
    foreign.is_closed = True
    for thing in (closed, event, target, builder, graph):
        thing.close()
    for call, what in (
        (closed.sync, "stream"),
        (closed.record, "stream"),
        (closed.create_graph_builder, "stream"),
        (lambda: closed.wait(stream), "stream"),
        (lambda: host_launch(closed, int), "stream"),
        (lambda: host_launch(foreign, int), "stream"),
        (lambda: buffer.fill(0, stream=closed), "stream"),
        (lambda: buffer.fill(0, stream=foreign), "stream"),
        (lambda: stream.wait(closed), "other stream"),
        (lambda: stream.wait(foreign), "other stream"),
        (lambda: stream.wait(event), "event"),
        (lambda: stream.record(event), "event"),
        (event.sync, "event"),
        (lambda: event.is_done, "event"),
        (lambda: target.fill(0, stream=stream), "buffer"),
        (lambda: buffer.copy_to(target, stream=stream), "destination buffer"),
        (lambda: buffer.copy_from(target, stream=stream), "source buffer"),
        (builder.begin_building, "builder"),
        (lambda: builder.callback(int), "builder"),
        (lambda: graph.launch(stream), "graph"),
        (lambda: graph.upload(stream), "graph"),
    ):
        with pytest.raises(RuntimeError, match=f": the {what} is closed$") as caught:
            call()
        assert not isinstance(caught.value, hostlaunch.CUDAError)


@pytest.mark.parametrize(
    ("cls", "instead"),
    [
        (Event, "an Event is made by Stream.record()"),
        (Graph, "a Graph is made by GraphBuilder.complete()"),
        (GraphNode, "a GraphNode is made by GraphBuilder.callback()"),
        (GraphBuilder, "a GraphBuilder is made by Stream.create_graph_builder(), or by"),
    ],
)
@pytest.mark.parametrize("arguments", [(), (1,)])
def test_a_class_that_cannot_be_called_says_where_its_objects_come_from(cls, instead, arguments):
    """Not `no constructor defined`."""
    with pytest.raises(TypeError) as raised:
        cls(*arguments)
    assert str(raised.value).startswith(instead)
