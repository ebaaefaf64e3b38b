# SPDX-License-Identifier: Apache-2.0
"""Who keeps a graph's functions until when, and that they are released once, on the main thread."""

import gc
import itertools
import threading
import weakref

import pytest

import embedded
import hostlaunch
import waiting
from hostlaunch import host_launch
from probes import Probe, resident_kib, wait_for_deaths


@pytest.fixture(autouse=True)
def _nothing_left(driver_in_use):
    # Every function of a graph is gone once the test's objects are.
    yield
    gc.collect()
    waiting.wait_until(waiting.no_graph_functions, 20)


def build(stream, *functions):
    """Build a graph of the functions: the builder, its nodes and the graph."""
    builder = stream.create_graph_builder().begin_building()
    nodes = [builder.callback(fn) for fn in functions]
    return builder, nodes, builder.end_building().complete()


def test_a_function_outlives_its_references_while_the_graph_can_run_it(stream):
    """contract: B2."""
    deaths, runs = [], []
    builder, _, graph = build(stream, Probe(deaths, runs))
    builder.close()
    gc.collect()
    for _ in range(100):
        graph.launch(stream)
    waiting.sync(stream)
    assert (len(runs), deaths) == (100, [])
    graph.close()
    wait_for_deaths(deaths, 1)  # on the main thread


def test_a_launch_in_flight_keeps_the_functions_of_a_closed_graph(stream, gate):
    """contract: B2."""
    deaths, runs = [], []
    builder, _, graph = build(stream, Probe(deaths, runs))
    gate.hold(stream)
    graph.launch(stream)
    graph.close()
    builder.close()
    del graph, builder
    gc.collect()
    assert deaths == []
    gate.open()
    waiting.sync(stream)
    wait_for_deaths(deaths, 1)
    assert len(runs) == 1


ORDERS = list(itertools.permutations(["builder", "first", "second", "stream"]))


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_objects_die_in_any_order(make_stream, order):
    """contract: B2. The function is released once, when the last is gone."""
    deaths = []
    stream = hostlaunch.Stream(0)
    builder, _, first = build(stream, Probe(deaths))
    objects = {
        "builder": builder,
        "first": first,
        "second": builder.complete(),
        "stream": stream,
    }
    del builder, first, stream
    launcher = make_stream(0)
    for name in order:
        for graph in ("first", "second"):
            if graph in objects:
                objects[graph].launch(launcher)
        del objects[name]
        gc.collect()
    waiting.sync(launcher)
    wait_for_deaths(deaths, 1)


def test_an_updated_function_is_released_once_no_launch_can_run_it(stream, gate):
    """contract: B6, B2. The launch in flight runs the old one."""
    deaths, runs = [], []
    builder, (node,), graph = build(stream, Probe(deaths, runs))
    builder.close()
    gate.hold(stream)
    graph.launch(stream)
    ran = []
    graph.update_callback(node, lambda: ran.append("new"))
    graph.launch(stream)
    gc.collect()
    assert (deaths, runs) == ([], [])
    gate.open()
    waiting.sync(stream)
    assert (len(runs), ran) == (1, ["new"])
    wait_for_deaths(deaths, 1)
    graph.launch(stream)
    waiting.sync(stream)
    assert (len(runs), ran) == (1, ["new"] * 2)


def test_a_graph_update_releases_what_the_graph_had(stream):
    """contract: B6."""
    deaths, ran = [], []
    builder, _, graph = build(stream, Probe(deaths))
    builder.close()
    newer, _, _ = build(stream, lambda: ran.append("new"))
    graph.update(newer)
    wait_for_deaths(deaths, 1)
    graph.launch(stream)
    waiting.sync(stream)
    assert ran == ["new"]


@pytest.mark.parametrize("how", ["close", "collect", "end"])
def test_functions_of_a_capture_that_was_given_up_are_released(stream, how):
    """contract: B2. The stream works afterwards."""
    deaths, ran = [], []
    builder = stream.create_graph_builder().begin_building()
    builder.callback(Probe(deaths))
    if how == "close":
        builder.close()
    elif how == "end":
        builder.end_building()
    del builder
    gc.collect()
    wait_for_deaths(deaths, 1)
    host_launch(stream, lambda: ran.append(1))
    waiting.sync(stream)
    assert ran == [1]


def test_results_and_exceptions_of_runs_are_released_on_the_main_thread(stream, unraisable):
    """contract: L2. Each run's own, while the function stays."""
    deaths = []

    class Result:
        def __del__(self):
            deaths.append(threading.get_ident())

    def work():
        return Result()

    builder, _, graph = build(stream, work)
    for _ in range(20):
        graph.launch(stream)
    waiting.sync(stream)
    waiting.wait_until(lambda: len(deaths) == 20)
    assert set(deaths) == {threading.main_thread().ident}
    builder.close()
    graph.close()


def test_a_graph_closed_inside_a_host_function_is_destroyed_on_the_main_thread(stream):
    """contract: L2. A builder too, in the middle of its capture."""
    deaths = []
    capturing = hostlaunch.Stream(0)
    builder, _, graph = build(stream, Probe(deaths))
    other = capturing.create_graph_builder().begin_building()
    other.callback(Probe(deaths))
    held = [builder, graph, other]
    del builder, graph, other
    host_launch(stream, held.clear)
    waiting.sync(stream)
    wait_for_deaths(deaths, 2)
    ran = []
    waiting.wait_until(lambda: can_launch(capturing, lambda: ran.append(1)))
    waiting.sync(capturing)
    assert ran == [1]


def can_launch(stream, fn):
    """Launch unless the stream still captures."""
    try:
        host_launch(stream, fn)
    except RuntimeError:
        return False
    return True


def test_a_stream_stays_open_until_its_builder_is_closed(make_stream):
    """contract: S6, B1."""
    ran = []
    stream = hostlaunch.Stream(0)
    builder = stream.create_graph_builder().begin_building()
    builder.callback(lambda: ran.append(1))
    stream.close()
    with pytest.raises(RuntimeError, match="closed"):
        stream.create_graph_builder()
    graph = builder.end_building().complete()
    builder.close()
    other = make_stream(0)
    graph.launch(other)
    waiting.sync(other)
    assert ran == [1]


def test_a_builder_in_a_cycle_with_its_stream_object_is_collected(stream):
    """contract: B4. A foreign stream may refer to the builder that it is attached to."""

    class Carrier:
        def __cuda_stream__(self):
            return (0, stream.handle)

    own = stream.create_graph_builder().begin_building()
    carrier = Carrier()
    carrier.builder = hostlaunch.GraphBuilder.attach(carrier)
    gone = weakref.ref(carrier)
    del carrier
    gc.collect()
    assert gone() is None
    assert own.is_building
    own.close()


@pytest.mark.resident_memory
def test_ten_thousand_cycles_leave_nothing(stream, driver_in_use):
    """contract: B2, L5. Memory follows what exists, not what existed."""
    deaths = []

    def cycle():
        builder, _, graph = build(stream, Probe(deaths, []))
        graph.launch(stream)
        stream.sync()
        builder.close()
        graph.close()

    for count in (1_000, 10_000):
        before = resident_kib()
        while len(deaths) < count:
            cycle()
    grown = resident_kib() - before
    wait_for_deaths(deaths, len(deaths))
    assert grown < 8 * 1024, f"{grown} KiB more after 9,000 further cycles"
    if driver_in_use.name == "embedded":
        knobs = embedded.knobs()
        assert knobs.wait_idle()
        assert [knobs.live(k) for k in ("graphs", "graph_execs", "user_objects")] == [0, 0, 0]
