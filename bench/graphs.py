# SPDX-License-Identifier: Apache-2.0
"""Replays of graphs of kernel and host function pairs, and what adding a function costs.

Ours and cuda.core's builders have the same methods, so both are measured by the same lines.
"""

import ctypes
import statistics
from time import perf_counter_ns as now

import bare
import ways
from paired import both

STEPS = 100
TIMES = 5  # that many times a graph is replayed, or built, in a turn


class Captured:
    """An executable graph of what C enqueued while a stream captured."""

    def __init__(self, lib, step):
        self.library = ctypes.CDLL(lib.driver)
        self.stream = ctypes.c_void_p(lib.stream)
        self.executable = ctypes.c_void_p()
        graph = ctypes.c_void_p()
        self.call("cuStreamBeginCapture_v2", self.stream, 2)
        for _ in range(STEPS):
            bare.require(step(), "a step of the graph")
        self.call("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        executable, flags = ctypes.byref(self.executable), ctypes.c_uint64(0)
        self.call("cuGraphInstantiateWithFlags", executable, graph, flags)

    def call(self, entry, *arguments):
        """Call an entry; anything but success raises."""
        bare.require(self.library[entry](*arguments), entry)

    def replay(self):
        """Launch and wait: microseconds a step."""
        begin = now()
        self.call("cuGraphLaunch", self.executable, self.stream)
        self.call("cuStreamSynchronize", self.stream)
        return [(now() - begin) / 1000 / STEPS]


def _begin(way):
    builder = way.graph_stream.create_graph_builder().begin_building()
    return builder, int(builder.__cuda_stream__()[1])


def _replay_of_way(lib, way):
    builder, handle = _begin(way)
    for _ in range(STEPS):
        bare.require(lib.calls.bare_kernel(handle), "a kernel")
        builder.callback(ways.nothing)
    graph, stream = builder.end_building().complete(), way.graph_stream

    def measure():
        begin = now()
        graph.launch(stream)
        stream.sync()
        return [(now() - begin) / 1000 / STEPS]

    return measure


def _in_turns(measure_way, measure_bare):
    """Measure both several times, after once that does not count; the medians."""
    both(measure_way, measure_bare)
    every = [both(measure_way, measure_bare) for _ in range(TIMES)]
    return {of: [statistics.median(pair[of][0] for pair in every)] for of in ("way", "bare")}


_made = {}


def replay(lib, way, of):
    """Replay a graph, of the way's functions or of kernels alone, and the one built in C."""
    if of not in _made:
        reference = Captured(lib, lambda: lib.calls.bare_pairs(lib.stream, 1))
        if of == "kernels":
            measured = Captured(lib, lambda: lib.calls.bare_kernel(lib.stream)).replay
        else:
            measured = _replay_of_way(lib, way)
        _made[of] = (measured, reference.replay)
    return _in_turns(*_made[of])


def building(lib, way):
    """Add STEPS functions to a capture: nanoseconds each."""
    raw = ctypes.CDLL(lib.driver)

    def from_c():
        stream, graph = ctypes.c_void_p(lib.stream), ctypes.c_void_p()
        bare.require(raw["cuStreamBeginCapture_v2"](stream, 2), "cuStreamBeginCapture")
        spent = lib.enqueue(lib.stream, STEPS, 0)
        bare.require(raw["cuStreamEndCapture"](stream, ctypes.byref(graph)), "cuStreamEndCapture")
        bare.require(raw["cuGraphDestroy"](graph), "cuGraphDestroy")
        return [spent / STEPS]

    def by_way():
        builder, _ = _begin(way)
        begin = now()
        for _ in range(STEPS):
            builder.callback(ways.nothing)
        spent = now() - begin
        builder.end_building().close()
        return [spent / STEPS]

    return _in_turns(by_way, from_c)
