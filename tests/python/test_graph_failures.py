# SPDX-License-Identifier: Apache-2.0
"""Each driver call on graphs fails in turn: one error, nothing lost, nothing released twice."""

import gc

import pytest

import hostlaunch
import waiting
from embedded import LAUNCH_FAILED, OUT_OF_MEMORY
from probes import Probe, wait_for_deaths

ADDING = [
    ("cuStreamGetCaptureInfo", 1),
    ("cuUserObjectCreate", 1),
    ("cuGraphRetainUserObject", 1),
    ("cuLaunchHostFunc", 1),
]
UPDATING = [
    ("cuGraphClone", 1),
    ("cuGraphNodeFindInClone", 1),
    ("cuUserObjectCreate", 1),
    ("cuUserObjectRetain", 1),
    ("cuGraphRetainUserObject", 1),
    ("cuGraphHostNodeSetParams", 1),
    ("cuGraphReleaseUserObject", 1),
    ("cuGraphExecUpdate", 1),
]


@pytest.fixture(autouse=True)
def _nothing_left(embedded):
    yield
    gc.collect()
    waiting.wait_until(waiting.no_graph_functions, 20)


def run(graph, stream):
    """Launch once and wait."""
    graph.launch(stream)
    waiting.sync(stream)


@pytest.mark.parametrize(("entry", "nth"), ADDING)
def test_a_function_that_could_not_be_added_is_released_at_once(stream, embedded, entry, nth):
    """contract: B5. The capture goes on without it."""
    deaths, ran = [], []
    builder = stream.create_graph_builder().begin_building()
    embedded.fail(entry, OUT_OF_MEMORY, nth)
    with pytest.raises(hostlaunch.CUDAError, match=entry):
        builder.callback(Probe(deaths))
    wait_for_deaths(deaths, 1)
    builder.callback(lambda: ran.append(1))
    run(builder.end_building().complete(), stream)
    assert ran == [1]


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


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(("entry", "nth"), UPDATING)
def test_a_failed_update_of_one_function_changes_nothing(stream, embedded, entry, nth, shared):
    """contract: B6, B5."""
    if not shared and entry in ("cuGraphClone", "cuGraphNodeFindInClone"):
        pytest.skip("only a shared source is cloned")
    deaths, kept, runs, ran = [], [], [], []
    builder = stream.create_graph_builder().begin_building()
    node = builder.callback(Probe(kept, runs))
    graph = builder.end_building().complete()
    if not shared:
        builder.close()
    embedded.fail(entry, OUT_OF_MEMORY, nth)
    with pytest.raises(hostlaunch.CUDAError, match=entry):
        graph.update_callback(node, Probe(deaths))
    wait_for_deaths(deaths, 1)
    run(graph, stream)
    assert (len(runs), kept) == (1, [])
    graph.update_callback(node, lambda: ran.append(1))
    run(graph, stream)
    assert ran == [1]
    builder.close()
    wait_for_deaths(kept, 1)


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


@pytest.mark.parametrize("entry", ["cuStreamIsCapturing", "cuGraphLaunch"])
def test_a_refused_launch_of_a_graph_runs_nothing(stream, embedded, entry):
    """contract: B5."""
    ran = []
    builder = stream.create_graph_builder().begin_building()
    builder.callback(lambda: ran.append(1))
    graph = builder.end_building().complete()
    embedded.fail(entry, LAUNCH_FAILED)
    with pytest.raises(hostlaunch.CUDAError, match="LAUNCH_FAILED"):
        graph.launch(stream)
    waiting.sync(stream)
    assert ran == []
    run(graph, stream)
    assert ran == [1]


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
