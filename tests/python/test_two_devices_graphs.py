# SPDX-License-Identifier: Apache-2.0
"""Graphs with host functions on two devices."""

import ctypes
import threading

import pytest

import cudriver
import hostlaunch
import waiting
from devices import CONTEXTS, DEVICES, make_current
from embedded import OUT_OF_MEMORY
from fakes import CupyLikeStream, ForeignStream, TorchLikeStream
from hostlaunch import Buffer, GraphBuilder, host_launch
from probes import Probe, wait_for_deaths

pytestmark = pytest.mark.usefixtures("two_devices")


def graph_of(stream, *functions):
    """Build a graph of the functions in their order."""
    builder = stream.create_graph_builder().begin_building()
    for fn in functions:
        builder.callback(fn)
    graph = builder.end_building().complete()
    builder.close()
    return graph


@pytest.mark.parametrize("current", CONTEXTS)
def test_graphs_are_built_and_launched_on_both_devices(cu, streams, current):
    """contract: B1, B3, O4. At the same time, on a thread with any context or none."""
    ran = [[], []]

    def use():
        context = make_current(cu, current)
        builders = [stream.create_graph_builder().begin_building() for stream in streams]
        for number in range(10):
            for device, builder in enumerate(builders):
                host_launch(builder, lambda at=ran[device], number=number: at.append(number))
        graphs = [builder.end_building().complete() for builder in builders]
        for _ in range(100):
            for graph, stream in zip(graphs, streams, strict=True):
                graph.launch(stream)
        waiting.sync(*streams)
        assert cu.current_context() == context

    waiting.bounded(use)
    assert ran == [list(range(10)) * 100] * 2


def test_functions_of_two_graphs_meet_inside(streams):
    """contract: B2, B3, O2. The graphs of two devices run at once; all dies on the main thread."""
    deaths = []
    meeting = threading.Barrier(2)

    def meet():
        meeting.wait(20)

    graphs = [graph_of(stream, *[Probe(deaths, body=meet) for _ in range(5)]) for stream in streams]
    for _ in range(40):
        for graph, stream in zip(graphs, streams, strict=True):
            graph.launch(stream)
    waiting.sync(*streams)
    assert not meeting.broken
    assert deaths == []
    for graph in graphs:
        graph.close()
    wait_for_deaths(deaths, 10)


@pytest.mark.parametrize("home", DEVICES)
@pytest.mark.parametrize("with_memory", [False, True])
def test_a_graph_on_the_other_devices_stream_works_or_is_refused(cu, streams, home, with_memory):
    """contract: B3, O4. Either way it goes on to work on the streams of its own device."""
    deaths, ran = [], []
    own, other = streams[home], streams[1 - home]
    device = Buffer(64, device_id=home)
    host = Buffer(64, kind="pinned", device_id=home)
    view = memoryview(host)
    view[:] = bytes(64)
    builder = own.create_graph_builder().begin_building()
    if with_memory:
        device.fill(9, stream=builder)
        device.copy_to(host, stream=builder)
    builder.callback(Probe(deaths, body=lambda: ran.append(view[63])))
    graph = builder.end_building().complete()
    builder.close()
    context = make_current(cu, 1 - home)
    expected = [9 if with_memory else 0]
    for call, runs in ((graph.upload, 0), (graph.launch, 1)):
        before = len(ran)
        try:
            call(other)
        except hostlaunch.CUDAError as error:
            print(f"{call.__name__} on the other device: {error}")
            runs = 0
        assert cu.current_context() == context
        waiting.sync(other)
        assert ran[before:] == expected * runs
    before = len(ran)
    graph.launch(own)
    waiting.sync(own)
    assert ran[before:] == expected
    graph.close()
    wait_for_deaths(deaths, 1)
    view.release()


@pytest.mark.parametrize("current", CONTEXTS)
def test_functions_are_updated_whichever_context_is_current(cu, streams, current):
    """contract: B6, O4."""
    ran = []
    stream = streams[1]
    builder = stream.create_graph_builder().begin_building()
    node = builder.callback(lambda: ran.append("old"))
    graph = builder.end_building().complete()
    newer = stream.create_graph_builder().begin_building()
    newer.callback(lambda: ran.append("newest"))
    newer.end_building()
    context = make_current(cu, current)
    graph.launch(stream)
    graph.update_callback(node, lambda: ran.append("new"))
    graph.launch(stream)
    graph.update(newer)
    graph.launch(stream)
    assert cu.current_context() == context
    waiting.sync(stream)
    assert ran == ["old", "new", "newest"]


def test_an_update_from_the_other_devices_graph_works_or_changes_nothing(cu, streams):
    """contract: B6."""
    ran = []
    graph = graph_of(streams[0], lambda: ran.append("old"))
    newer = streams[1].create_graph_builder().begin_building()
    newer.callback(lambda: ran.append("new"))
    context = make_current(cu, 1)
    expected = "new"
    try:
        graph.update(newer.end_building())
    except hostlaunch.CUDAError as error:
        print(f"update from the other device's graph: {error}")
        expected = "old"
    assert cu.current_context() == context
    graph.launch(streams[0])
    waiting.sync(streams[0])
    assert ran == [expected]


def test_a_capture_spans_both_devices(streams):
    """contract: B3, B4. Forked to the other device by an event, and joined back."""
    ran = []
    builder = streams[0].create_graph_builder().begin_building()
    builder.callback(lambda: ran.append("before"))
    streams[1].wait(streams[0].record())
    branch = GraphBuilder.attach(streams[1])
    branch.callback(lambda: ran.append("branch"))
    streams[0].wait(streams[1].record())
    builder.callback(lambda: ran.append("after"))
    graph = builder.end_building().complete()
    for _ in range(2):
        graph.launch(streams[0])
    waiting.sync(streams[0])
    assert ran == ["before", "branch", "after"] * 2


class RawGraph:
    """A graph that another library ends, instantiates and destroys."""

    def __init__(self, cu, stream, device):
        make_current(cu, device)
        self.cu, self.graph, self.exec = cu, ctypes.c_void_p(), ctypes.c_void_p()
        self.stream = ctypes.c_void_p(stream)
        self.device = device
        cu.call("cuStreamEndCapture", self.stream, ctypes.byref(self.graph))

    def launch(self, times):
        """Enqueue runs; requires: no other capture is in progress."""
        make_current(self.cu, self.device)
        flags = ctypes.c_ulonglong(0)
        self.cu.call("cuGraphInstantiateWithFlags", ctypes.byref(self.exec), self.graph, flags)
        self.cu.call("cuGraphDestroy", self.graph)
        for _ in range(times):
            self.cu.call("cuGraphLaunch", self.exec, self.stream)


@pytest.mark.parametrize("mode", [cudriver.GLOBAL, cudriver.THREAD_LOCAL, cudriver.RELAXED])
@pytest.mark.parametrize("current", CONTEXTS)
@pytest.mark.parametrize("present", [lambda s: s, lambda s: ForeignStream(s.handle)])
def test_captures_of_both_devices_are_adopted(cu, streams, mode, current, present):
    """contract: B4, O4. In progress at the same time; each function goes where it belongs."""
    deaths, runs = [[], []], [[], []]
    for stream in streams:
        cu.begin_capture(stream.handle, mode)
    context = make_current(cu, current)
    builders = [GraphBuilder.attach(present(stream)) for stream in streams]
    for _ in range(5):
        for device, builder in enumerate(builders):
            host_launch(builder, Probe(deaths[device], runs[device]))
    assert cu.current_context() == context
    graphs = [RawGraph(cu, stream.handle, device) for device, stream in enumerate(streams)]
    for device, graph in enumerate(graphs):
        assert not builders[device].is_building
        graph.launch(3 + device)
    waiting.sync(*streams)
    assert [len(there) for there in runs] == [15, 20]
    assert deaths == [[], []]
    for device, graph in enumerate(graphs):
        make_current(cu, device)
        cu.call("cuGraphExecDestroy", graph.exec)
        wait_for_deaths(deaths[device], 5)


@pytest.mark.parametrize("current", CONTEXTS)
def test_a_capture_on_a_default_stream_that_names_its_device_is_adopted(cu, current):
    """contract: B4, O4. The per-thread default stream of the second device."""
    deaths, runs = [], []
    per_thread = 2
    make_current(cu, 1)
    cu.begin_capture(per_thread, cudriver.RELAXED)
    context = make_current(cu, current)
    builder = GraphBuilder.attach(TorchLikeStream(per_thread, 1))
    host_launch(builder, Probe(deaths, runs))
    assert builder.is_building
    assert cu.current_context() == context
    graph = RawGraph(cu, per_thread, 1)
    builder.close()
    graph.launch(3)
    cu.call("cuStreamSynchronize", ctypes.c_void_p(per_thread))
    assert len(runs) == 3
    cu.call("cuGraphExecDestroy", graph.exec)
    wait_for_deaths(deaths, 1)


@pytest.mark.parametrize("nth", [1, 3])
@pytest.mark.parametrize("current", [None, 0])
def test_a_function_is_not_launched_where_the_named_device_cannot_be_current(
    cu, embedded, nth, current
):
    """contract: B5, O4. The token would mean the caller's own default stream."""
    deaths, runs = [], []
    per_thread = ctypes.c_void_p(2)
    make_current(cu, 1)
    cu.begin_capture(per_thread.value, cudriver.RELAXED)
    context = make_current(cu, current)
    builder = GraphBuilder.attach(TorchLikeStream(per_thread.value, 1))
    try:
        embedded.fail("cuCtxSetCurrent", OUT_OF_MEMORY, nth)
        with pytest.raises(hostlaunch.CUDAError, match="cuCtxSetCurrent"):
            builder.callback(Probe(deaths, runs))
        assert cu.current_context() == context
        wait_for_deaths(deaths, 1)
    finally:
        make_current(cu, 1)
        assert cu.end_capture(per_thread.value) == 0
    assert runs == []


@pytest.mark.parametrize("token", [0, 1, 2])
@pytest.mark.parametrize("current", CONTEXTS)
def test_a_graph_is_launched_on_a_default_stream_of_the_second_device(cu, streams, token, current):
    """contract: B3, O4. The stream that captures is not the one that is named."""
    ran = []
    graph = graph_of(streams[1], lambda: ran.append(1))
    make_current(cu, 0)
    capturing = cu.create_stream(0)  # forbids the use of device 0's legacy stream
    cu.begin_capture(capturing, cudriver.RELAXED)
    try:
        context = make_current(cu, current)
        graph.upload(CupyLikeStream(token, 1))
        graph.launch(CupyLikeStream(token, 1))
        assert cu.current_context() == context
    finally:
        make_current(cu, 0)
        assert cu.end_capture(capturing) == 0
        cu.destroy_stream(capturing)
    waiting.wait_until(lambda: ran == [1])


def test_a_graph_is_not_launched_while_the_named_device_captures(cu, streams):
    """contract: S5, O4. That capture goes on."""
    graph = graph_of(streams[1], int)
    make_current(cu, 1)
    capturing = cu.create_stream(0)  # forbids the use of device 1's legacy stream
    cu.begin_capture(capturing, cudriver.RELAXED)
    try:
        for current in CONTEXTS:
            context = make_current(cu, current)
            for call in (graph.upload, graph.launch):
                with pytest.raises(RuntimeError, match="captur"):
                    call(TorchLikeStream(0, 1))
            assert cu.current_context() == context
        assert cu.capture_status(capturing) == cudriver.ACTIVE
    finally:
        make_current(cu, 1)
        assert cu.end_capture(capturing) == 0
        cu.destroy_stream(capturing)
