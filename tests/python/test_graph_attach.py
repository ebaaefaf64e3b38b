# SPDX-License-Identifier: Apache-2.0
"""Captures that other libraries began: adopted, added to, never damaged."""

import ctypes
import gc

import pytest

import cudriver
import hostlaunch
import waiting
from fakes import ForeignStream
from hostlaunch import GraphBuilder, host_launch
from probes import Probe, wait_for_deaths


class RawGraph:
    """A graph that another library ends, instantiates, launches and destroys."""

    def __init__(self, cu, stream):
        self.cu = cu
        cu.set_current(cu.primary_context(0))
        self.graph, self.exec = ctypes.c_void_p(), ctypes.c_void_p()
        cu.call("cuStreamEndCapture", ctypes.c_void_p(stream.handle), ctypes.byref(self.graph))
        cu.call(
            "cuGraphInstantiateWithFlags",
            ctypes.byref(self.exec),
            self.graph,
            ctypes.c_ulonglong(0),
        )

    def launch(self, stream):
        """Enqueue one run."""
        self.cu.call("cuGraphLaunch", self.exec, ctypes.c_void_p(stream.handle))

    def destroy_graph(self):
        """Destroy the graph, not the executable."""
        self.cu.call("cuGraphDestroy", self.graph)

    def destroy(self):
        """Destroy the executable."""
        self.cu.call("cuGraphExecDestroy", self.exec)


@pytest.mark.parametrize("mode", [cudriver.GLOBAL, cudriver.THREAD_LOCAL, cudriver.RELAXED])
@pytest.mark.parametrize("present", [lambda s: s, lambda s: ForeignStream(s.handle)])
def test_a_function_lives_as_long_as_the_other_librarys_graph(cu, stream, mode, present):
    """contract: B4, B2."""
    deaths, runs = [], []
    cu.begin_capture(stream.handle, mode)
    builder = GraphBuilder.attach(present(stream))
    assert builder.is_building
    host_launch(builder, Probe(deaths, runs))
    graph = RawGraph(cu, stream)
    assert not builder.is_building
    graph.destroy_graph()
    del builder
    gc.collect()
    for _ in range(100):
        graph.launch(stream)
    waiting.sync(stream)
    assert (len(runs), deaths) == (100, [])
    graph.destroy()
    wait_for_deaths(deaths, 1)


def test_the_other_library_ends_the_capture(cu, stream):
    """contract: B4. Ending, completing and beginning raise; closing only detaches."""
    cu.begin_capture(stream.handle)
    builder = GraphBuilder.attach(stream)
    for refused in (builder.end_building, builder.complete, builder.begin_building):
        with pytest.raises(RuntimeError, match="another library"):
            refused()
    builder.callback(int)
    builder.close()
    with pytest.raises(RuntimeError, match="closed"):
        builder.callback(int)
    again = GraphBuilder.attach(stream)
    again.callback(int)
    del again
    gc.collect()
    assert cu.capture_status(stream.handle) == cudriver.ACTIVE
    assert cu.end_capture(stream.handle) == 2


def test_a_stream_that_does_not_capture_is_refused(stream):
    """contract: B4."""
    with pytest.raises(RuntimeError, match="attach while"):
        GraphBuilder.attach(stream)


def test_another_capture_on_the_stream_is_not_the_one_that_was_adopted(cu, stream):
    """contract: B4. Neither is touched."""
    cu.begin_capture(stream.handle)
    builder = GraphBuilder.attach(stream)
    cu.end_capture(stream.handle)
    with pytest.raises(RuntimeError, match="building"):
        builder.callback(int)
    cu.begin_capture(stream.handle)
    assert not builder.is_building
    for add in (builder.callback, lambda fn: host_launch(builder, fn)):
        with pytest.raises(RuntimeError, match="building"):
            add(int)
    builder.close()
    assert cu.capture_status(stream.handle) == cudriver.ACTIVE
    assert cu.end_capture(stream.handle) == 0


def test_an_invalidated_capture_is_refused_and_left_to_its_owner(cu, stream):
    """contract: B4, S5."""
    cu.begin_capture(stream.handle)
    builder = GraphBuilder.attach(stream)
    cu.invalidate_capture(stream.handle)
    with pytest.raises(hostlaunch.CUDAError, match="INVALIDATED"):
        builder.callback(int)
    with pytest.raises(hostlaunch.CUDAError, match="INVALIDATED"):
        GraphBuilder.attach(stream)
    builder.close()
    assert cu.capture_status(stream.handle) == cudriver.INVALIDATED
    with pytest.raises(cudriver.DriverError):
        cu.end_capture(stream.handle)


def test_a_builder_whose_capture_was_ended_behind_its_back_says_so(cu, stream):
    """contract: B5. Its functions went with the graph."""
    deaths = []
    builder = stream.create_graph_builder().begin_building()
    builder.callback(Probe(deaths))
    assert cu.end_capture(stream.handle) == 1  # and destroys the graph
    wait_for_deaths(deaths, 1)
    assert not builder.is_building
    with pytest.raises(RuntimeError, match="building"):
        builder.callback(int)
    with pytest.raises(RuntimeError, match="building"):
        builder.end_building()
    builder.close()


def test_a_closed_builder_leaves_a_later_capture_of_others_alone(cu, stream):
    """contract: B5."""
    builder = stream.create_graph_builder().begin_building()
    cu.end_capture(stream.handle)
    cu.begin_capture(stream.handle)
    builder.close()
    assert cu.capture_status(stream.handle) == cudriver.ACTIVE
    assert cu.end_capture(stream.handle) == 0


@pytest.mark.parametrize("mode", ["global", "thread_local"])
def test_a_capture_that_only_its_thread_can_end_survives_the_attempt(stream, mode):
    """contract: B1."""
    ran = []
    builder = stream.create_graph_builder().begin_building(mode)
    builder.callback(lambda: ran.append(1))
    with pytest.raises(hostlaunch.CUDAError, match="WRONG_THREAD"):
        waiting.bounded(builder.end_building)
    graph = builder.end_building().complete()
    graph.launch(stream)
    waiting.sync(stream)
    assert ran == [1]
