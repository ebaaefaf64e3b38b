# SPDX-License-Identifier: Apache-2.0
"""Measure graphs: replays of kernel and host function pairs, and what adding a function costs.

The kernel is an empty one, given to the driver as PTX, so that no library is needed to compile it.
The embedded driver runs no kernels: a small memset stands for one there.
"""

import ctypes
import importlib
from time import perf_counter_ns as now

import bare
import paired
import peers
from paired import Subject

import hostlaunch

STEPS = 100
PTX = b"""
.version 7.0
.target sm_50
.address_size 64
.visible .entry nothing() { ret; }
\0"""


class Driver:
    """The driver library itself: kernels, raw captures, replays."""

    def __init__(self):
        self.library = ctypes.CDLL(hostlaunch.driver().path)
        self.address = ctypes.cast(bare.library().bare_nothing, ctypes.c_void_p)
        self.kernel = self.scratch = None
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)
        if hostlaunch.driver().name == "cuda":
            module, self.kernel = ctypes.c_void_p(), ctypes.c_void_p()
            self.call("cuModuleLoadData", ctypes.byref(module), PTX)
            self.call("cuModuleGetFunction", ctypes.byref(self.kernel), module, b"nothing")
        else:
            self.scratch = hostlaunch.Buffer(64)

    def call(self, entry, *arguments):
        """Call an entry; anything but success raises."""
        bare.require(self.library[entry](*arguments), entry)

    def launch_kernel(self, handle):
        """Enqueue the kernel."""
        stream = ctypes.c_void_p(handle)
        if self.kernel is None:
            address = ctypes.c_uint64(self.scratch.handle)
            self.call("cuMemsetD8Async", address, ctypes.c_ubyte(0), ctypes.c_size_t(64), stream)
            return
        ones = [ctypes.c_uint(1)] * 6
        self.call("cuLaunchKernel", self.kernel, *ones, ctypes.c_uint(0), stream, None, None)

    def capture(self, handle, step):
        """Capture STEPS times what `step` enqueues: the executable's handle."""
        stream, graph, executable = ctypes.c_void_p(handle), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuStreamBeginCapture_v2", stream, 2)
        for _ in range(STEPS):
            step()
        self.call("cuStreamEndCapture", stream, ctypes.byref(graph))
        self.call(
            "cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_uint64(0)
        )
        return executable


def core_builder(stream):
    """A builder of cuda.core on a stream of its own, and that stream's handle."""
    importlib.import_module("cuda.core.graph")
    builder = stream.create_graph_builder().begin_building()
    return builder, int(builder.__cuda_stream__()[1])


def replay_of(driver, executable, handle):
    """Launch and wait: microseconds a step."""
    stream = ctypes.c_void_p(handle)

    def measure():
        begin = now()
        driver.call("cuGraphLaunch", executable, stream)
        driver.call("cuStreamSynchronize", stream)
        return ((now() - begin) / 1000 / STEPS,)

    return measure


def our_graph(driver, stream, fn):
    """STEPS pairs of kernel and host function, built by us."""
    builder = stream.create_graph_builder().begin_building()
    for _ in range(STEPS):
        driver.launch_kernel(stream.handle)
        builder.callback(fn)
    return builder.end_building().complete()


def core_replay(driver):
    """The same built with cuda.core."""
    stream = peers.core_stream().keeps
    builder, handle = core_builder(stream)
    for _ in range(STEPS):
        driver.launch_kernel(handle)
        builder.callback(peers.nothing)
    graph = builder.end_building().complete()

    def measure():
        begin = now()
        graph.launch(stream)
        stream.sync()
        return ((now() - begin) / 1000 / STEPS,)

    return measure


def measure_replays(driver, settings, report):
    """Replay graphs of STEPS pairs."""
    stream = hostlaunch.Stream()
    handle = stream.handle

    def pair_in_c():
        driver.launch_kernel(handle)
        driver.call("cuLaunchHostFunc", ctypes.c_void_p(handle), driver.address, None)

    kernels = driver.capture(handle, lambda: driver.launch_kernel(handle))
    in_c = driver.capture(handle, pair_in_c)
    graphs = [
        our_graph(driver, stream, peers.nothing),
        our_graph(driver, stream, bare.nothing_function()),
    ]
    ours, compiled = (ctypes.c_void_p(graph.handle) for graph in graphs)
    subjects = [
        Subject("C host nodes, captured from C", replay_of(driver, in_c, handle)),
        Subject("kernels alone", replay_of(driver, kernels, handle)),
        Subject("Graph of Python callables", replay_of(driver, ours, handle)),
        Subject("Graph of C functions", replay_of(driver, compiled, handle)),
    ]
    missing = add_peer(subjects, "cuda.core graph of Python callables", lambda: core_replay(driver))
    paired.run_rounds(subjects, settings.rounds)
    group = f"replay, {STEPS} kernel + host function steps"
    report.add_group(group, "us a step", 0, subjects, how="ratio")
    for name, status in missing:
        report.add_missing(group, "us a step", name, status)


def build_of(make, add, discard):
    """Time STEPS calls of `add` in a fresh capture: nanoseconds a call."""

    def measure():
        builder = make()
        begin = now()
        for _ in range(STEPS):
            add(builder)
        spent = now() - begin
        discard(builder)
        return (spent / STEPS,)

    return measure


def measure_building(driver, settings, report):
    """Add host functions to a capture."""
    stream = hostlaunch.Stream()
    raw = ctypes.c_void_p(stream.handle)
    plain = driver.library["cuLaunchHostFunc"]

    def begin_raw():
        driver.call("cuStreamBeginCapture_v2", raw, 2)

    def end_raw(_):
        graph = ctypes.c_void_p()
        driver.call("cuStreamEndCapture", raw, ctypes.byref(graph))
        driver.call("cuGraphDestroy", graph)

    def make_ours():
        return stream.create_graph_builder().begin_building()

    def close(builder):
        builder.end_building().close()

    def make_core():
        return core_builder(core_stream)[0]

    subjects = [
        Subject(
            "cuLaunchHostFunc on a capture, through ctypes",
            build_of(begin_raw, lambda _: plain(raw, driver.address, None), end_raw),
        ),
        Subject(
            "GraphBuilder.callback",
            build_of(make_ours, lambda builder: builder.callback(peers.nothing), close),
        ),
        Subject(
            "host_launch(builder, fn)",
            build_of(
                make_ours, lambda builder: hostlaunch.host_launch(builder, peers.nothing), close
            ),
        ),
    ]
    core_stream = None

    def core():
        nonlocal core_stream
        core_stream = peers.core_stream().keeps
        return build_of(make_core, lambda builder: builder.callback(peers.nothing), close)

    missing = add_peer(subjects, "cuda.core GraphBuilder.callback", core)
    paired.run_rounds(subjects, settings.rounds)
    report.add_group("building a graph", "ns a host function", 0, subjects)
    for name, status in missing:
        report.add_missing("building a graph", "ns a host function", name, status)


def add_peer(subjects, name, measure):
    """Add another library's subject if it can be set up, else tell why not."""
    status = peers.try_out("cuda.core graph of 100 callbacks")
    if status == "measured":
        try:
            made = measure()
            made()
        except Exception as error:
            status = f"failed: {error!r}"
    if status != "measured":
        return [(name, status)]
    subjects.append(Subject(name, made))
    return []


def measure_graphs(settings, report):
    """Measure replays, then building."""
    driver = Driver()
    measure_replays(driver, settings, report)
    measure_building(driver, settings, report)
