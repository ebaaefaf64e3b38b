# SPDX-License-Identifier: Apache-2.0
"""Captures of torch, CuPy and cuda.core on a real device: adopted, replayed by their owners."""

import gc
import importlib
import weakref

import pytest

import hostlaunch
import waiting
from hostlaunch import GraphBuilder, host_launch
from probes import Probe, wait_for_deaths


@pytest.fixture(autouse=True)
def _real_device(driver_in_use):
    if driver_in_use.name != "cuda":
        pytest.skip("needs an NVIDIA GPU")


def core_graph_module():
    """cuda.core's graph module, and cuda.core."""
    core = pytest.importorskip("cuda.core")
    return core, importlib.import_module("cuda.core.graph")


def test_a_torch_capture_replays_a_function_a_hundred_times():
    """contract: B4, B2, B3. Kernels before and after it, in order."""
    torch = pytest.importorskip("torch")
    device = torch.zeros(8, device="cuda")
    pinned = torch.zeros(8, pin_memory=True)
    seen, deaths = [], []
    (device + 1).sum().item()  # loads the kernels
    graph = torch.cuda.CUDAGraph()
    probe = Probe(deaths, body=lambda: seen.append(float(pinned[0])))
    with torch.cuda.graph(graph):
        device += 1
        pinned.copy_(device, non_blocking=True)
        builder = GraphBuilder.attach(torch.cuda.current_stream())
        host_launch(builder, probe)
        device += 1
    assert seen == []
    del probe, builder
    gc.collect()
    for _ in range(100):
        graph.replay()
    waiting.bounded(torch.cuda.synchronize)
    assert seen == [float(2 * n + 1) for n in range(100)]
    assert deaths == []
    graph.reset()
    del graph
    gc.collect()
    wait_for_deaths(deaths, 1)


def test_a_plain_launch_inside_a_torch_capture_is_refused_and_harms_nothing():
    """contract: S5."""
    torch = pytest.importorskip("torch")
    device = torch.zeros(8, device="cuda")
    (device + 1).sum().item()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        device += 1
        with pytest.raises(RuntimeError, match="graph builder"):
            host_launch(torch.cuda.current_stream(), int)
    graph.replay()
    waiting.bounded(torch.cuda.synchronize)
    assert float(device[0]) == 1.0


def test_a_cupy_capture_replays_a_function_a_hundred_times():
    """contract: B4, B2, B3."""
    cupy = pytest.importorskip("cupy")
    cupy.cuda.Device(0).use()
    data = cupy.zeros(8, dtype=cupy.float32)
    one = cupy.ones(8, dtype=cupy.float32)
    cupy.add(data, one, out=data)  # loads the kernel
    data.fill(0)
    seen, deaths = [], []
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device(0).synchronize()
    with stream:
        stream.begin_capture()
        cupy.add(data, one, out=data)
        builder = GraphBuilder.attach(stream)
        host_launch(builder, Probe(deaths, body=lambda: seen.append(1)))
        cupy.add(data, one, out=data)
        graph = stream.end_capture()
    del builder
    gc.collect()
    for _ in range(100):
        graph.launch(stream)
    waiting.bounded(stream.synchronize)
    assert len(seen) == 100
    assert float(data[0]) == 200.0
    assert deaths == []
    del graph
    gc.collect()
    wait_for_deaths(deaths, 1)


def test_a_capture_of_a_foreign_stream_by_our_builder():
    """contract: B1. Kernels of torch on a stream that we capture."""
    torch = pytest.importorskip("torch")
    device = torch.zeros(8, device="cuda")
    (device + 1).sum().item()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    ours = hostlaunch.Stream.from_handle(side.cuda_stream)
    ran = []
    builder = ours.create_graph_builder().begin_building()
    with torch.cuda.stream(side):
        device += 1
        host_launch(builder, lambda: ran.append(1))
        device += 1
    graph = builder.end_building().complete()
    for _ in range(10):
        graph.launch(side)
    waiting.bounded(side.synchronize)
    assert len(ran) == 10
    assert float(device[0]) == 20.0


def test_a_builder_of_cuda_core_is_forwarded_to_and_can_be_adopted():
    """contract: S1, B4."""
    core, graphs = core_graph_module()
    device = core.Device(0)
    device.set_current()
    stream = device.create_stream()
    builder = stream.create_graph_builder()
    assert isinstance(builder, graphs.GraphBuilder)
    ran = []
    builder.begin_building()
    host_launch(builder, lambda: ran.append("forwarded"))
    adopted = GraphBuilder.attach(builder)
    host_launch(adopted, lambda: ran.append("adopted"))
    graph = builder.end_building().complete()
    with pytest.raises(RuntimeError, match="building"):
        adopted.callback(int)
    for _ in range(3):
        graph.launch(stream)
    waiting.bounded(stream.sync)
    assert ran == ["forwarded", "adopted"] * 3


def test_a_graph_of_ours_launches_on_streams_of_others():
    """contract: B1, S3."""
    torch = pytest.importorskip("torch")
    cupy = pytest.importorskip("cupy")
    stream = hostlaunch.Stream(0)
    ran = []
    builder = stream.create_graph_builder().begin_building()

    def work():
        ran.append(1)

    gone = weakref.ref(work)
    builder.callback(work)
    graph = builder.end_building().complete()
    builder.close()
    others = [torch.cuda.Stream(), cupy.cuda.Stream(non_blocking=True)]
    for other in others:
        graph.launch(other)
    for other in others:
        waiting.bounded(other.synchronize)
    assert len(ran) == 2
    del work
    graph.close()
    waiting.wait_until(lambda: gone() is None)
