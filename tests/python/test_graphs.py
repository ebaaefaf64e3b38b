# SPDX-License-Identifier: Apache-2.0
"""Host functions in graphs: building, replaying, updating."""

import ctypes
import threading

import pytest

import cudriver
import hostlaunch
import waiting
from fakes import ForeignStream
from hostfns import CUhostFn
from hostlaunch import host_launch

MODES = ["relaxed", "global", "thread_local"]


@pytest.fixture
def builder(stream):
    """Make a builder that builds; closed after the test."""
    made = stream.create_graph_builder().begin_building()
    yield made
    made.close()


def replay(graph, stream, times=1):
    """Launch the graph and wait."""
    for _ in range(times):
        graph.launch(stream)
    waiting.sync(stream)


@pytest.mark.parametrize("mode", MODES)
def test_each_launch_runs_the_functions_once_more_in_their_order(stream, mode):
    """contract: B1, B3."""
    ran = []
    builder = stream.create_graph_builder()
    assert not builder.is_building
    assert builder.begin_building(mode) is builder
    assert builder.is_building
    for number in range(10):
        host_launch(builder, lambda number=number: ran.append(number))
    assert ran == []
    assert builder.end_building() is builder
    assert not builder.is_building
    graph = builder.complete()
    replay(graph, stream, 3)
    assert ran == list(range(10)) * 3


def test_functions_run_between_the_captured_work_before_and_after_them(stream):
    """contract: B3, O1. Each replay sees what the copies before it brought."""
    pinned = hostlaunch.Buffer(4096, kind="pinned")
    device = hostlaunch.Buffer(4096)
    back = hostlaunch.Buffer(4096, kind="pinned")
    written, seen = memoryview(pinned), memoryview(back)
    read = []

    def produce():
        written[:] = bytes([(len(read) + 1) % 256]) * 4096

    def consume():
        read.append((seen[0], seen[4095]))

    builder = stream.create_graph_builder().begin_building()
    host_launch(builder, produce)
    pinned.copy_to(device, stream=stream)
    back.copy_from(device, stream=builder)  # the same stream, named by its builder
    host_launch(builder, consume)
    back.fill(0, stream=stream)
    graph = builder.end_building().complete()
    replay(graph, stream, 1000)
    assert read == [(n % 256, n % 256) for n in range(1, 1001)]
    assert bytes(seen) == bytes(4096)
    seen.release()
    written.release()


def test_callback_and_host_launch_take_the_same_functions(stream, builder, hostfns):
    """contract: B1, S1, F1, F2."""
    ran = []
    builder.callback(lambda: ran.append("callable"))
    builder.callback(CUhostFn(ran.append), user_data=5)
    builder.callback(hostfns.copy64, user_data=bytearray(range(64)))
    host_launch(builder, hostfns.count)
    graph = builder.end_building().complete()
    replay(graph, stream, 2)
    assert ran == ["callable", 5] * 2
    assert hostfns.seen_bytes() == bytes(range(64))
    assert hostfns.counter() == 4  # both of them count


@pytest.mark.parametrize(
    ("fn", "user_data", "error"),
    [
        (None, None, TypeError),
        ("text", None, TypeError),
        (print, 0, ValueError),
        (ctypes.CFUNCTYPE(None)(print), None, TypeError),
        (CUhostFn(), None, ValueError),
        (CUhostFn(print), -1, OverflowError),
        (CUhostFn(print), "text", TypeError),
    ],
)
def test_wrong_functions_are_refused_and_leave_the_capture_alone(
    stream, builder, fn, user_data, error
):
    """contract: S1, F3, U1, U2, U4."""
    for call in (builder.callback, lambda *args, **kw: host_launch(builder, *args, **kw)):
        with pytest.raises(error):
            call(fn, user_data=user_data)
    ran = []
    builder.callback(lambda: ran.append(1))
    replay(builder.end_building().complete(), stream)
    assert ran == [1]


def test_a_builder_that_is_not_building_is_refused(stream):
    """contract: S1, S6, B1."""
    builder = stream.create_graph_builder()
    for take in (builder.callback, lambda fn: host_launch(builder, fn)):
        with pytest.raises(RuntimeError, match="building"):
            take(int)
    with pytest.raises(RuntimeError, match="building"):
        builder.end_building()
    with pytest.raises(RuntimeError, match="no graph yet"):
        builder.complete()
    builder.begin_building()
    with pytest.raises(RuntimeError, match="captur"):
        builder.begin_building()
    with pytest.raises(RuntimeError, match="no graph yet"):
        builder.complete()
    builder.end_building()
    for late in (builder.begin_building, builder.end_building, lambda: builder.callback(int)):
        with pytest.raises(RuntimeError, match="ended building"):
            late()
    builder.close()
    builder.close()
    assert builder.is_closed
    assert not builder.is_building
    for closed in (builder.begin_building, builder.end_building, builder.complete):
        with pytest.raises(RuntimeError, match="closed"):
            closed()
    with pytest.raises(RuntimeError):
        host_launch(builder, int)


def test_the_modes_are_named_and_others_refused(stream):
    """contract: B1."""
    builder = stream.create_graph_builder()
    with pytest.raises(ValueError, match="relaxed"):
        builder.begin_building("fast")
    with pytest.raises(TypeError):
        builder.begin_building(2)


def test_a_builder_speaks_the_stream_protocol(stream, builder):
    """contract: B1."""
    assert builder.stream is stream
    assert builder.__cuda_stream__() == (0, stream.handle)


def test_a_graph_is_launched_on_any_stream_and_by_any_thread(stream, make_stream, builder):
    """contract: B1, B3. Launches of one graph never overlap."""
    other = make_stream(0)
    foreign = ForeignStream(other.handle)
    inside, most, runs = [], [], []

    def count():
        inside.append(1)
        most.append(len(inside))
        runs.append(threading.get_ident())
        inside.pop()

    builder.callback(count)
    graph = builder.end_building().complete()
    graph.upload(stream)
    waiting.run_threads(*[lambda s=s: graph.launch(s) for s in (stream, other, foreign) * 5])
    waiting.sync(stream, other)
    assert len(runs) == 15
    assert set(most) == {1}
    assert threading.main_thread().ident not in runs


def test_a_graph_is_not_launched_on_a_stream_that_captures(cu, stream, make_stream, builder):
    """contract: S5."""
    ran = []
    builder.callback(lambda: ran.append(1))
    graph = builder.end_building().complete()
    other = make_stream(0)
    cu.begin_capture(other.handle, cudriver.RELAXED)
    with pytest.raises(RuntimeError, match="captur"):
        graph.launch(other)
    with pytest.raises(RuntimeError, match="captur"):
        graph.upload(other)
    assert cu.capture_status(other.handle) == cudriver.ACTIVE
    assert cu.end_capture(other.handle) == 0
    replay(graph, other)
    assert ran == [1]


def test_a_closed_graph_is_refused(stream, builder):
    """contract: S6."""
    graph = builder.end_building().complete()
    graph.close()
    graph.close()
    assert graph.is_closed
    for use in (graph.launch, graph.upload):
        with pytest.raises(RuntimeError, match="closed"):
            use(stream)
    with pytest.raises(RuntimeError, match="closed"):
        graph.update(builder)


def test_wrong_arguments_are_type_errors(stream, builder):
    """contract: S4."""
    node = builder.callback(int)
    graph = builder.end_building().complete()
    for wrong in (None, 0, "stream"):
        with pytest.raises(TypeError):
            graph.launch(wrong)
        with pytest.raises(TypeError):
            hostlaunch.GraphBuilder.attach(wrong)
    with pytest.raises(TypeError):
        graph.update(graph)
    with pytest.raises(TypeError):
        graph.update_callback(0, int)
    with pytest.raises(TypeError):
        graph.update_callback(node, "text")
    with pytest.raises(TypeError):
        hostlaunch.GraphBuilder()
    with pytest.raises(TypeError):
        hostlaunch.Graph()


def test_a_plain_launch_on_the_stream_that_builds_is_refused(stream, builder):
    """contract: S5."""
    ran = []
    with pytest.raises(RuntimeError, match="graph builder"):
        host_launch(stream, int)
    builder.callback(lambda: ran.append(1))
    replay(builder.end_building().complete(), stream)
    assert ran == [1]


def test_work_of_a_second_stream_that_joins_is_captured_too(stream, make_stream, builder):
    """contract: B3. Forked by an event, joined back by another."""
    ran = []
    second = make_stream(0)
    builder.callback(lambda: ran.append("before"))
    second.wait(stream.record())
    branch = hostlaunch.GraphBuilder.attach(second)
    branch.callback(lambda: ran.append("branch"))
    stream.wait(second.record())
    builder.callback(lambda: ran.append("after"))
    graph = builder.end_building().complete()
    assert not branch.is_building
    with pytest.raises(RuntimeError, match="building"):
        branch.callback(int)
    replay(graph, stream, 2)
    assert ran == ["before", "branch", "after"] * 2


def test_streams_that_were_not_joined_back_fail_the_end_and_can_be_begun_again(
    stream, make_stream, builder
):
    """contract: B5."""
    ran = []
    second = make_stream(0)
    second.wait(stream.record())
    hostlaunch.GraphBuilder.attach(second).callback(int)
    with pytest.raises(hostlaunch.CUDAError, match="UNJOINED"):
        builder.end_building()
    assert not builder.is_building
    builder.begin_building().callback(lambda: ran.append(1))
    replay(builder.end_building().complete(), stream)
    assert ran == [1]


def test_an_invalidated_capture_is_told_and_can_be_begun_again(cu, stream, builder):
    """contract: B5."""
    builder.callback(int)
    cu.invalidate_capture(stream.handle)
    with pytest.raises(hostlaunch.CUDAError, match="INVALIDATED"):
        builder.callback(int)
    with pytest.raises(hostlaunch.CUDAError):
        builder.end_building()
    ran = []
    builder.begin_building().callback(lambda: ran.append(1))
    replay(builder.end_building().complete(), stream)
    assert ran == [1]


def test_an_update_takes_over_another_builders_functions(stream, make_stream, builder):
    """contract: B6."""
    ran = []
    builder.callback(lambda: ran.append("old"))
    graph = builder.end_building().complete()
    replay(graph, stream)
    newer = make_stream(0).create_graph_builder().begin_building()
    node = newer.callback(lambda: ran.append("new"))
    graph.update(newer.end_building())
    replay(graph, stream)
    graph.update_callback(node, lambda: ran.append("newest"))
    replay(graph, stream)
    assert ran == ["old", "new", "newest"]


def test_a_failed_update_changes_nothing(stream, make_stream, builder):
    """contract: B6."""
    ran = []
    node = builder.callback(lambda: ran.append("old"))
    graph = builder.end_building().complete()
    longer = make_stream(0).create_graph_builder().begin_building()
    foreign_node = longer.callback(lambda: ran.append("wrong"))
    longer.callback(lambda: ran.append("wrong"))
    with pytest.raises(ValueError, match="still building; call end_building first"):
        graph.update(longer)
    with pytest.raises(RuntimeError, match="no graph yet"):
        graph.update(make_stream(0).create_graph_builder())
    with pytest.raises(hostlaunch.CUDAError, match="UPDATE_FAILURE"):
        graph.update(longer.end_building())
    with pytest.raises(RuntimeError, match="not one of this graph"):
        graph.update_callback(foreign_node, lambda: ran.append("wrong"))
    replay(graph, stream)
    graph.update_callback(node, lambda: ran.append("new"))
    replay(graph, stream)
    assert ran == ["old", "new"]


def test_an_update_of_one_function_leaves_other_graphs_of_the_builder_alone(stream, builder):
    """contract: B6."""
    ran = []
    node = builder.callback(lambda: ran.append("old"))
    first = builder.end_building().complete()
    second = builder.complete()
    first.update_callback(node, lambda: ran.append("new"))
    third = builder.complete()
    for graph in (first, second, third):
        replay(graph, stream)
    assert ran == ["new", "old", "old"]
    second.update_callback(node, CUhostFn(ran.append), user_data=9)
    replay(second, stream)
    assert ran[3:] == [9]


def test_an_exception_in_a_function_is_reported_and_the_graph_goes_on(stream, builder, unraisable):
    """contract: E1."""
    ran = []

    def fail():
        raise ValueError("mine")

    builder.callback(fail)
    builder.callback(lambda: ran.append(1))
    before = hostlaunch.stats()
    graph = builder.end_building().complete()
    replay(graph, stream, 2)
    after = hostlaunch.stats()
    assert ran == [1, 1]
    assert unraisable.types == [ValueError, ValueError]
    assert {call[2] for call in unraisable.calls} == {id(fail)}
    assert after.graph_raised - before.graph_raised == 2
    assert after.graph_ran - before.graph_ran == 2


def test_calls_from_inside_a_function_are_refused(stream, builder):
    """contract: E3."""
    said = []

    def call_back():
        for call in (
            lambda: graph.launch(stream),
            lambda: graph.upload(stream),
            lambda: host_launch(other, int),
            other.begin_building,
            other.complete,
            stream.create_graph_builder,
            lambda: hostlaunch.GraphBuilder.attach(stream),
        ):
            try:
                call()
            except RuntimeError as error:
                said.append("inside a host function" in str(error))

    other = stream.create_graph_builder()
    builder.callback(call_back)
    graph = builder.end_building().complete()
    replay(graph, stream)
    assert said.count(True) >= 6
    assert len(said) == 7
