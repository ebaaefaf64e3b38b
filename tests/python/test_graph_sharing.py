# SPDX-License-Identifier: Apache-2.0
"""Several parties at one capture or graph: each keeps what is its own."""

import ctypes
import threading

import pytest

import cudriver
import hostlaunch
import waiting
from hostlaunch import GraphBuilder
from probes import Probe, wait_for_deaths


def test_a_node_that_is_not_ours_is_never_updated(cu, stream, hostfns):
    """contract: B6, B5. Another thread enqueues on the capturing stream all the while."""
    ran, fresh, stop = [], [], threading.Event()
    builder = stream.create_graph_builder().begin_building()
    theirs = []

    def enqueue():
        count = ctypes.cast(hostfns.count, ctypes.c_void_p)
        for _ in range(2000):
            if stop.is_set():
                return
            cu.call("cuLaunchHostFunc", ctypes.c_void_p(stream.handle), count, None)
            theirs.append(1)

    thread = threading.Thread(target=enqueue)
    thread.start()
    nodes = [builder.callback(lambda: ran.append(1)) for _ in range(200)]
    stop.set()
    thread.join(20)
    graph = builder.end_building().complete()
    updated = 0
    for node in nodes:
        try:
            graph.update_callback(node, lambda: fresh.append(1))
        except RuntimeError as error:  # the driver's answer did not tell which node it was
            assert "not one of this graph" in str(error)
        else:
            updated += 1
    graph.launch(stream)
    waiting.sync(stream)
    assert (len(fresh), len(ran)) == (updated, 200 - updated)
    assert hostfns.counter() == len(theirs)


def test_a_node_that_others_add_right_behind_ours_is_not_taken_for_it(
    cu, stream, embedded, hostfns
):
    """contract: B6, B5. Exactly between our node and the question which one it is."""
    ran, steps = [], []
    count = ctypes.cast(hostfns.count, ctypes.c_void_p)

    @ctypes.CFUNCTYPE(ctypes.c_int)
    def at_each_entry():
        launched = embedded.calls("cuLaunchHostFunc")
        if not steps and launched > before:
            steps.append("our launch")
        elif steps == ["our launch"]:
            steps.append("theirs")
            cu.call("cuLaunchHostFunc", ctypes.c_void_p(stream.handle), count, None)
        return 0

    builder = stream.create_graph_builder().begin_building()
    before = embedded.calls("cuLaunchHostFunc")
    embedded.set_entry_check(ctypes.cast(at_each_entry, ctypes.c_void_p))
    node = builder.callback(lambda: ran.append(1))
    embedded.check_gil()
    assert steps == ["our launch", "theirs"]
    graph = builder.end_building().complete()
    with pytest.raises(RuntimeError, match="not one of this graph"):
        graph.update_callback(node, int)
    graph.launch(stream)
    waiting.sync(stream)
    assert (len(ran), hostfns.counter()) == (1, 1)


def test_builders_of_one_capture_may_add_at_once(stream, make_stream):
    """contract: B1, B4."""
    ran = []
    second = make_stream(0)
    builder = stream.create_graph_builder().begin_building()
    second.wait(stream.record())
    branch = GraphBuilder.attach(second)

    def add(to):
        for _ in range(200):
            to.callback(lambda: ran.append(1))

    waiting.run_threads(lambda: add(builder), lambda: add(branch))
    stream.wait(second.record())
    graph = builder.end_building().complete()
    graph.launch(stream)
    waiting.sync(stream)
    assert len(ran) == 400


def test_a_builder_given_as_a_stream_keeps_the_stream_open(stream):
    """contract: S6. Also once builder and stream are closed."""
    deaths = []
    own = hostlaunch.Stream(0)
    builder = own.create_graph_builder().begin_building()
    attached = GraphBuilder.attach(builder)
    own.close()
    attached.callback(Probe(deaths))
    builder.close()
    with pytest.raises(RuntimeError):
        attached.callback(int)
    attached.close()
    wait_for_deaths(deaths, 1)


@pytest.mark.parametrize("entry", ["cuGraphLaunch", "cuGraphExecUpdate"])
def test_closing_does_not_wait_for_a_call_in_progress(stream, embedded, entry):
    """contract: G1. The last one out destroys."""
    deaths = []
    builder = stream.create_graph_builder().begin_building()
    node = builder.callback(Probe(deaths))
    graph = builder.end_building().complete()
    builder.close()
    calls = {
        "cuGraphLaunch": lambda: graph.launch(stream),
        "cuGraphExecUpdate": lambda: graph.update_callback(node, Probe(deaths)),
    }
    with embedded.hold(entry) as wait_held:
        caller = threading.Thread(target=calls[entry])
        caller.start()
        wait_held()
        waiting.bounded(graph.close)
        assert graph.is_closed
        assert embedded.live("graph_execs") == 1
    caller.join(20)
    waiting.sync(stream)
    waiting.wait_until(lambda: embedded.live("graph_execs") == 0)
    waiting.wait_until(waiting.no_graph_functions)


def test_closing_a_builder_does_not_wait_for_a_call_in_progress(stream, embedded):
    """contract: G1."""
    deaths = []
    builder = stream.create_graph_builder().begin_building()
    with embedded.hold("cuGraphRetainUserObject") as wait_held:
        caller = threading.Thread(target=builder.callback, args=(Probe(deaths),))
        caller.start()
        wait_held()
        waiting.bounded(builder.close)
    caller.join(20)
    wait_for_deaths(deaths, 1, launchers=(caller.ident,))
    assert cudriver.handle().capture_status(stream.handle) == cudriver.NOT_CAPTURING
