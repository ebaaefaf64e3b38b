# SPDX-License-Identifier: Apache-2.0
"""Other libraries: their streams as targets of host_launch, and their own ways to call a function.

Each is set up by a function that returns a `Way`. It raises ImportError where the library is not
installed, and anything else where it fails. A new one is tried in a process of its own first, so
that one that crashes or hangs costs its own line and nothing else.
"""

import ctypes
import dataclasses
import importlib.metadata
import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import repeat
from time import perf_counter_ns as now
from typing import Any

import bare

import hostlaunch


def nothing():
    """Do nothing: the Python callable of all figures."""


def nothing_with(_):
    """Do nothing, for libraries that pass an argument."""


def nothing_with_status(_stream, _status, _argument):
    """Do nothing, for libraries with the callback signature of cuStreamAddCallback."""


@dataclasses.dataclass
class Way:
    """One way to enqueue a function that does nothing."""

    name: str
    handle: int  # of the stream that it enqueues on
    enqueue: Callable[[int], int]  # launches that many times, returns nanoseconds
    keeps: Any = None


def calls_of_one(call, argument):
    """Time calls with one argument."""

    def enqueue(calls):
        begin = now()
        for _ in repeat(None, calls):
            call(argument)
        return now() - begin

    return enqueue


def calls_of_two(call, first, second):
    """Time calls with two arguments."""

    def enqueue(calls):
        begin = now()
        for _ in repeat(None, calls):
            call(first, second)
        return now() - begin

    return enqueue


def calls_of_three(call, first, second, third):
    """Time calls with three arguments."""

    def enqueue(calls):
        begin = now()
        for _ in repeat(None, calls):
            call(first, second, third)
        return now() - begin

    return enqueue


def calls_with_user_data(stream, function, data):
    """Time host_launch with user data."""
    call = hostlaunch.host_launch

    def enqueue(calls):
        begin = now()
        for _ in repeat(None, calls):
            call(stream, function, user_data=data)
        return now() - begin

    return enqueue


def _ours_on(name, stream, handle):
    return Way(name, handle, calls_of_two(hostlaunch.host_launch, stream, nothing), stream)


def torch_stream():
    """host_launch on a torch.cuda.Stream."""
    import torch

    stream = torch.cuda.Stream()
    return _ours_on("host_launch, torch stream", stream, stream.cuda_stream)


def cupy_stream():
    """host_launch on a cupy.cuda.Stream."""
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    return _ours_on("host_launch, CuPy stream", stream, stream.ptr)


def _core_stream():
    from cuda.core import Device

    device = Device(0)
    device.set_current()
    return device.create_stream()


def core_stream():
    """host_launch on a cuda.core.Stream."""
    stream = _core_stream()
    return _ours_on("host_launch, cuda.core stream", stream, int(stream.handle))


def numba_stream():
    """host_launch on a numba-cuda stream."""
    from numba import cuda

    stream = cuda.stream()
    handle = stream.__cuda_stream__()[1]
    return _ours_on("host_launch, numba-cuda stream", stream, int(handle))


def _bindings_launch(name, function):
    from cuda.bindings import driver

    stream = hostlaunch.Stream()
    address = ctypes.cast(function, ctypes.c_void_p).value
    enqueue = calls_of_three(
        driver.cuLaunchHostFunc, driver.CUstream(stream.handle), driver.CUhostFn(address), 0
    )
    code = driver.cuInit(0)[0]
    if int(code) != 0:
        raise RuntimeError(f"cuInit returned {code!r}")
    return Way(name, stream.handle, enqueue, (stream, function))


def bindings_python():
    """cuda.bindings, with a Python callable behind a ctypes callback."""
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(nothing_with)
    return _bindings_launch("cuda.bindings, ctypes callback", callback)


def bindings_compiled():
    """cuda.bindings, with a C function."""
    return _bindings_launch("cuda.bindings, C function", bare.nothing_function())


def cupy_launch():
    """CuPy's Stream.launch_host_func."""
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    enqueue = calls_of_two(stream.launch_host_func, nothing_with, None)
    return Way("CuPy launch_host_func", stream.ptr, enqueue, stream)


def cupy_add_callback():
    """CuPy's Stream.add_callback."""
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    enqueue = calls_of_two(stream.add_callback, nothing_with_status, None)
    return Way("CuPy add_callback", stream.ptr, enqueue, stream)


def numba_add_callback():
    """numba-cuda's Stream.add_callback."""
    from numba import cuda

    stream = cuda.stream()
    handle = stream.__cuda_stream__()[1]
    enqueue = calls_of_two(stream.add_callback, nothing_with_status, None)
    return Way("numba-cuda add_callback", int(handle), enqueue, stream)


def core_graph():
    """cuda.core's GraphBuilder.callback: a graph of 100, built beforehand."""
    stream = _core_stream()
    builder = stream.device.create_graph_builder().begin_building()
    for _ in range(100):
        builder.callback(nothing)
    graph = builder.end_building().complete()
    graph.upload(stream)

    def enqueue(calls):
        begin = now()
        for _ in repeat(None, calls // 100):
            graph.launch(stream)
        return now() - begin

    return Way("cuda.core graph of 100 callbacks", int(stream.handle), enqueue, (stream, graph))


SETUPS = {
    "host_launch, torch stream": torch_stream,
    "host_launch, CuPy stream": cupy_stream,
    "host_launch, cuda.core stream": core_stream,
    "host_launch, numba-cuda stream": numba_stream,
    "cuda.bindings, ctypes callback": bindings_python,
    "cuda.bindings, C function": bindings_compiled,
    "CuPy launch_host_func": cupy_launch,
    "CuPy add_callback": cupy_add_callback,
    "numba-cuda add_callback": numba_add_callback,
    "cuda.core graph of 100 callbacks": core_graph,
}

_DISTRIBUTIONS = (
    "cuda-bindings",
    "cuda-core",
    "cupy-cuda13x",
    "cupy-cuda12x",
    "numba-cuda",
    "torch",
)


def versions():
    """Tell the versions of the peers that are installed."""
    found = {}
    for name in _DISTRIBUTIONS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def probe(name):
    """Set a peer up and run one short round; print its status. For a process of its own."""
    try:
        way = SETUPS[name]()
        bare.blocked_round(way.handle, 100, lambda: way.enqueue(100))
        status = "measured"
    except ImportError as absent:
        status = f"absent ({absent})"
    except Exception as failure:
        status = f"failed: {type(failure).__name__}: {failure}"
    print(json.dumps(status), flush=True)
    os._exit(0)  # whatever a peer left behind is not waited for


def try_out(name, limit=60):
    """Tell a peer's status: "measured" if it works, else why not."""
    if hostlaunch.driver().name != "cuda":
        return "absent (needs the NVIDIA driver)"
    command = [sys.executable, sys.argv[0], "--probe", name]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return f"failed: no answer within {limit} seconds"
    try:
        return json.loads(ran.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        last = (ran.stderr.strip().splitlines() or ["no message"])[-1]
        return f"failed: exit code {ran.returncode}: {last}"
