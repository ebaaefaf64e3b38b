# SPDX-License-Identifier: Apache-2.0
"""Streams and builders of cuda.core, torch, CuPy and numba-cuda on a real device."""

import importlib

import pytest

import hostlaunch
import waiting
from hostfns import CUhostFn
from hostlaunch import host_launch


@pytest.fixture(autouse=True)
def _real_device(driver_in_use):
    if driver_in_use.name != "cuda":
        pytest.skip("needs an NVIDIA GPU")


def core_module():
    """cuda.core, wherever its version keeps it."""
    try:
        return importlib.import_module("cuda.core")
    except ImportError:
        return pytest.importorskip("cuda.core.experimental")


def core_stream():
    """A stream of cuda.core and how to wait for it."""
    device = core_module().Device(0)
    device.set_current()
    stream = device.create_stream()
    return stream, stream.sync


def torch_stream():
    """A stream of torch."""
    torch = pytest.importorskip("torch")
    stream = torch.cuda.Stream()
    return stream, stream.synchronize


def torch_default_stream():
    """The default stream of torch, which names its device."""
    torch = pytest.importorskip("torch")
    stream = torch.cuda.default_stream(0)
    return stream, stream.synchronize


def cupy_stream():
    """A stream of CuPy."""
    cupy = pytest.importorskip("cupy")
    stream = cupy.cuda.Stream(non_blocking=True)
    return stream, stream.synchronize


def cupy_null_stream():
    """The default stream of CuPy, with its device current."""
    cupy = pytest.importorskip("cupy")
    cupy.cuda.Device(0).use()
    stream = cupy.cuda.Stream.null
    return stream, stream.synchronize


def numba_stream():
    """A stream of numba-cuda."""
    cuda = pytest.importorskip("numba.cuda")
    stream = cuda.stream()
    return stream, stream.synchronize


KINDS = [
    core_stream,
    torch_stream,
    torch_default_stream,
    cupy_stream,
    cupy_null_stream,
    numba_stream,
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_functions_run_in_the_order_of_the_foreign_stream(kind, hostfns):
    """contract: S3, O1."""
    stream, sync = kind()
    ran = []
    for number in range(200):
        host_launch(stream, lambda number=number: ran.append(number))
    host_launch(stream, CUhostFn(lambda pointer: ran.append(pointer)), user_data=7)
    host_launch(stream, hostfns.copy64, user_data=bytes(range(64)))
    waiting.bounded(sync)
    assert ran == [*range(200), 7]
    assert hostfns.seen_bytes() == bytes(range(64))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_foreign_stream_goes_on_after_an_exception(kind, unraisable):
    """contract: E1, S3."""
    stream, sync = kind()
    ran = []

    def fail():
        raise ValueError("mine")

    host_launch(stream, fail)
    host_launch(stream, lambda: ran.append(1))
    waiting.bounded(sync)
    assert ran == [1]
    assert unraisable.types == [ValueError]


def test_a_function_sees_what_a_torch_kernel_wrote():
    """contract: O1."""
    torch = pytest.importorskip("torch")
    stream = torch.cuda.Stream()
    pinned = torch.zeros(1024, dtype=torch.int64, pin_memory=True)
    seen = []
    with torch.cuda.stream(stream):
        data = torch.zeros(1024, dtype=torch.int64, device="cuda")
        for _ in range(20):
            data += 1
            pinned.copy_(data, non_blocking=True)
            host_launch(stream, lambda: seen.append(int(pinned[1023])))
    waiting.bounded(stream.synchronize)
    assert seen == list(range(1, 21))


def test_a_torch_kernel_sees_what_a_function_wrote():
    """contract: O1."""
    torch = pytest.importorskip("torch")
    stream = torch.cuda.Stream()
    pinned = torch.zeros(16, dtype=torch.int64, pin_memory=True)
    view = pinned.numpy()
    out = torch.zeros(20, dtype=torch.int64, device="cuda")
    waiting.bounded(torch.cuda.synchronize)
    with torch.cuda.stream(stream):
        for number in range(20):
            host_launch(stream, lambda number=number: view.__setitem__(0, number * 3))
            out[number] = pinned.to("cuda", non_blocking=True)[0]
    waiting.bounded(stream.synchronize)
    assert out.tolist() == [number * 3 for number in range(20)]


def test_a_stream_that_torch_captures_is_refused_and_the_capture_goes_on():
    """contract: S5."""
    torch = pytest.importorskip("torch")
    data = torch.zeros(16, device="cuda")
    data + 1  # loads the kernel before the capture
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        data += 1
        with pytest.raises(RuntimeError, match="captur"):
            host_launch(torch.cuda.current_stream(), int)
    graph.replay()
    torch.cuda.synchronize()
    assert data.tolist() == [1.0] * 16


def test_a_closed_stream_of_cuda_core_is_refused():
    """contract: S6."""
    stream, _ = core_stream()
    stream.close()
    with pytest.raises((RuntimeError, TypeError)):
        host_launch(stream, int)


def test_a_builder_of_cuda_core_gets_the_function():
    """contract: S1. What the builder does with it afterwards is its own."""
    stream, sync = core_stream()
    builder = stream.create_graph_builder()
    if not hasattr(type(builder), "callback"):
        pytest.skip("this cuda.core has no callback in its builder")
    ran = []
    with pytest.raises(RuntimeError):
        host_launch(builder, lambda: ran.append("too early"))
    builder.begin_building()
    host_launch(builder, lambda: ran.append("Python"))
    host_launch(builder, CUhostFn(lambda pointer: ran.append(bool(pointer))), user_data=b"data")
    with pytest.raises(ValueError, match="user_data"):
        host_launch(builder, lambda: None, user_data=b"x")
    graph = builder.end_building().complete()
    for _ in range(3):
        graph.launch(stream)
    waiting.bounded(sync)
    assert ran == ["Python", True] * 3


def test_our_streams_are_taken_by_other_libraries(stream):
    """contract: section 2: __cuda_stream__."""
    torch = pytest.importorskip("torch")
    ran = []
    with torch.cuda.stream(torch.cuda.ExternalStream(stream.handle)):
        data = torch.ones(16, device="cuda") * 2
        host_launch(stream, lambda: ran.append(1))
    waiting.sync(stream)
    assert data.sum().item() == 32
    assert ran == [1]
    device = core_module().Device(0)
    device.set_current()
    assert int(device.create_stream(stream).handle) == stream.handle
    assert hostlaunch.Stream.from_handle(stream.handle).device_id == 0
