# SPDX-License-Identifier: Apache-2.0
"""Each driver call on graphs fails in turn: one error, nothing lost, nothing released twice."""

import gc

import pytest

import failing
import hostlaunch
import waiting
from embedded import LAUNCH_FAILED, OUT_OF_MEMORY
from probes import Probe, wait_for_deaths

# A node that the driver does not tell is in the graph all the same; only its updates are refused.
ASKS_WHICH_NODE = [("cuStreamGetCaptureInfo", 2), ("cuGraphHostNodeGetParams", 1)]


@pytest.fixture(autouse=True)
def _nothing_left(embedded):
    yield
    gc.collect()
    waiting.wait_until(waiting.no_graph_functions, 20)


def run(graph, stream):
    """Launch once and wait."""
    graph.launch(stream)
    waiting.sync(stream)


def test_a_function_that_could_not_be_added_is_released_at_once(stream, embedded):
    """contract: B5. The capture goes on without it, whichever driver call fails."""
    builder = stream.create_graph_builder().begin_building()
    calls = failing.driver_calls(embedded, lambda: builder.callback(int))
    builder.end_building()
    for call in calls:
        deaths, dropped, ran = [], [], []
        builder = stream.create_graph_builder().begin_building()
        with failing.failed(embedded, call, OUT_OF_MEMORY):
            if call.restores or (call.entry, call.nth) in ASKS_WHICH_NODE:
                builder.callback(Probe(deaths, ran))
            else:
                with pytest.raises(hostlaunch.CUDAError) as caught:
                    builder.callback(Probe(dropped))
                failing.check_error(caught.value, call, OUT_OF_MEMORY, "GraphBuilder.callback")
                del caught
                wait_for_deaths(dropped, 1)
                builder.callback(Probe(deaths, ran))
        graph = builder.end_building().complete()
        run(graph, stream)
        assert (len(ran), deaths) == (1, [])
        builder.close()
        graph.close()
        wait_for_deaths(deaths, 1)


def test_a_function_whose_node_the_driver_does_not_tell_runs_all_the_same(stream, embedded):
    """contract: B5. Only an update of it is refused."""
    ran = []
    builder = stream.create_graph_builder().begin_building()
    embedded.fail("cuStreamGetCaptureInfo", OUT_OF_MEMORY, 2)
    node = builder.callback(lambda: ran.append(1))
    graph = builder.end_building().complete()
    run(graph, stream)
    assert ran == [1]
    with pytest.raises(RuntimeError, match="not one of this graph"):
        graph.update_callback(node, int)


class Built:
    """A graph of one function, whose builder is still open if the source is shared."""

    def __init__(self, stream, *, shared):
        self.kept, self.runs = [], []
        self.builder = stream.create_graph_builder().begin_building()
        self.node = self.builder.callback(Probe(self.kept, self.runs))
        self.graph = self.builder.end_building().complete()
        if not shared:
            self.builder.close()


@pytest.mark.parametrize("shared", [True, False])
def test_a_failed_update_of_one_function_changes_nothing(stream, embedded, shared):
    """contract: B6, B5. Whichever driver call fails."""
    built = Built(stream, shared=shared)
    calls = failing.driver_calls(embedded, lambda: built.graph.update_callback(built.node, int))
    for call in calls:
        if call.entry in failing.RELEASES:
            continue
        deaths, ran, built = [], [], Built(stream, shared=shared)
        with failing.failed(embedded, call, OUT_OF_MEMORY):
            if not call.restores:
                with pytest.raises(hostlaunch.CUDAError) as caught:
                    built.graph.update_callback(built.node, Probe(deaths))
                failing.check_error(caught.value, call, OUT_OF_MEMORY, "Graph.update_callback")
                del caught
                wait_for_deaths(deaths, 1)
        run(built.graph, stream)
        assert (len(built.runs), built.kept) == (1, [])
        built.graph.update_callback(built.node, lambda ran=ran: ran.append(1))
        run(built.graph, stream)
        assert ran == [1]
        built.builder.close()
        wait_for_deaths(built.kept, 1)


@pytest.mark.parametrize("entry", ["cuStreamBeginCapture", "cuStreamGetCaptureInfo"])
def test_a_capture_that_could_not_begin_leaves_the_stream_free(stream, embedded, entry):
    """contract: B5."""
    for nth in (1, 2) if entry == "cuStreamGetCaptureInfo" else (1,):
        builder = stream.create_graph_builder()
        embedded.fail(entry, OUT_OF_MEMORY, nth)
        with pytest.raises(hostlaunch.CUDAError, match=entry):
            builder.begin_building()
        ran = []
        builder.begin_building().callback(lambda ran=ran: ran.append(1))
        run(builder.end_building().complete(), stream)
        assert ran == [1]


@pytest.mark.parametrize("entry", ["cuGraphInstantiateWithFlags", "cuStreamGetCtx"])
def test_a_graph_that_could_not_be_made_can_be_made_again(embedded, stream, entry):
    """contract: B5."""
    borrowed = hostlaunch.Stream.from_handle(stream.handle)
    ran = []
    builder = borrowed.create_graph_builder().begin_building()
    builder.callback(lambda: ran.append(1))
    builder.end_building()
    embedded.fail(entry, OUT_OF_MEMORY)
    with pytest.raises(hostlaunch.CUDAError):
        builder.complete()
    run(builder.complete(), stream)
    assert ran == [1]


def test_a_refused_launch_of_a_graph_runs_nothing(stream, embedded):
    """contract: B5. Whichever driver call fails."""
    built = Built(stream, shared=True)
    for call in failing.driver_calls(embedded, lambda: built.graph.launch(stream)):
        waiting.sync(stream)
        before = len(built.runs)
        if call.restores:
            continue  # the launch stands
        with failing.failed(embedded, call, LAUNCH_FAILED):
            with pytest.raises(hostlaunch.CUDAError) as caught:
                built.graph.launch(stream)
            failing.check_error(caught.value, call, LAUNCH_FAILED, "Graph.launch")
        del caught
        waiting.sync(stream)
        assert len(built.runs) == before
        run(built.graph, stream)
        assert len(built.runs) == before + 1


def test_a_refused_upload_or_update_of_a_graph_leaves_it_as_it_was(stream, make_stream, embedded):
    """contract: B5, B6. Whichever driver call fails."""
    built, other = Built(stream, shared=True), Built(make_stream(0), shared=True)
    for attempt, name in (
        (lambda: built.graph.upload(stream), "Graph.upload"),
        (lambda: built.graph.update(other.builder), "Graph.update"),
    ):
        failing.fail_each_call(embedded, attempt, name, OUT_OF_MEMORY)
    run(built.graph, stream)
    assert (len(built.runs), len(other.runs)) == (0, 1)


def test_an_end_that_fails_leaves_the_capture_to_be_ended_again(stream, embedded):
    """contract: B5."""
    ran = []
    builder = stream.create_graph_builder().begin_building()
    builder.callback(lambda: ran.append(1))
    embedded.fail("cuStreamEndCapture", OUT_OF_MEMORY)
    with pytest.raises(hostlaunch.CUDAError, match="cuStreamEndCapture"):
        builder.end_building()
    assert builder.is_building
    run(builder.end_building().complete(), stream)
    assert ran == [1]
