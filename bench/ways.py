# SPDX-License-Identifier: Apache-2.0
"""The ways to launch a function that does nothing: ours, by hand, and other libraries'.

Each is made by a function in a process of its own (worker.py). It raises ImportError where its
library is not installed, and anything else where it fails. Only ours import hostlaunch, since it
changes what other libraries' callbacks cost: they would find the thread state that it keeps on the
driver's thread.
"""

import ctypes
import dataclasses
import importlib.util
import os
from collections.abc import Callable
from itertools import repeat
from time import perf_counter_ns as now
from typing import Any


def nothing():
    """Do nothing: the Python callable of all figures."""


def nothing_with(_):
    """Do nothing, for libraries that pass an argument."""


def nothing_with_status(_stream, _status, _argument):
    """Do nothing, for libraries with the callback signature of cuStreamAddCallback."""


@dataclasses.dataclass
class Way:
    """One way, ready to use."""

    handle: int  # of the stream that it enqueues on
    enqueue: Callable[[int], int]  # launches that many times, returns nanoseconds
    launch: Callable[[], Any] | None = None  # launches once
    sync: Callable[[], Any] | None = None  # waits for the stream
    graph_stream: Any = None  # a stream that has graph builders
    most: int = 1 << 30  # launches that may be pending at once
    keeps: Any = None


def calls_of(call, *arguments, **keywords):
    """Time calls in a loop, written out for each number of arguments so that it adds little."""

    def two(calls):
        first, second = arguments
        begin = now()
        for _ in repeat(None, calls):
            call(first, second)
        return now() - begin

    def three(calls):
        first, second, third = arguments
        begin = now()
        for _ in repeat(None, calls):
            call(first, second, third)
        return now() - begin

    def with_user_data(calls):
        first, second = arguments
        data = keywords["user_data"]
        begin = now()
        for _ in repeat(None, calls):
            call(first, second, user_data=data)
        return now() - begin

    if keywords:
        return with_user_data
    return two if len(arguments) == 2 else three


def _from_c(lib):
    return Way(lib.stream, lambda calls: lib.enqueue(lib.stream, calls, 0))


# Ours.


def _ours_on(stream, handle, sync=None, fn=nothing, **keywords):
    from hostlaunch import host_launch

    return Way(
        handle,
        calls_of(host_launch, stream, fn, **keywords),
        lambda: host_launch(stream, fn, **keywords),
        sync,
        keeps=(stream, keywords),
    )


def _own(_):
    import hostlaunch

    stream = hostlaunch.Stream()
    way = _ours_on(stream, stream.handle, stream.sync)
    way.graph_stream = stream
    return way


class ForeignStream:
    """The least that a stream of another library is."""

    def __init__(self, handle):
        self.handle = handle

    def __cuda_stream__(self):
        """Tell the handle."""
        return 0, self.handle


def _foreign(lib):
    return _ours_on(ForeignStream(lib.stream), lib.stream)


# Each as-is launch records an event, and the driver's queue holds some thousand operations.
TRACKED = 400


def _as_is_pointer(lib):
    import hostlaunch

    stream = hostlaunch.Stream()
    data = ctypes.create_string_buffer(64)
    address = ctypes.addressof(data)
    way = _ours_on(stream, stream.handle, stream.sync, fn=lib.nothing_function(), user_data=address)
    way.keeps, way.most = data, TRACKED
    return way


def _as_is_copied(lib):
    import hostlaunch

    stream = hostlaunch.Stream()
    way = _ours_on(
        stream, stream.handle, stream.sync, fn=lib.nothing_function(), user_data=bytes(64)
    )
    way.most = TRACKED
    return way


def _on_torch(_):
    import torch

    stream = torch.cuda.Stream()
    return _ours_on(stream, stream.cuda_stream)


def _on_cupy(_):
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    return _ours_on(stream, stream.ptr)


def _core_stream():
    from cuda.core import Device

    device = Device(0)
    device.set_current()
    return device.create_stream()


def _on_core(_):
    stream = _core_stream()
    return _ours_on(stream, int(stream.handle))


def _on_numba(_):
    from numba import cuda

    stream = cuda.stream()
    return _ours_on(stream, int(stream.__cuda_stream__()[1]))


# By hand.


def _by_hand(lib):
    return _through_ctypes(lib, ctypes.CFUNCTYPE(None, ctypes.c_void_p)(nothing_with))


def _compiled_by_hand(lib):
    return _through_ctypes(lib, lib.nothing_function())


def _through_ctypes(lib, function):
    launch = ctypes.CDLL(lib.driver)["cuLaunchHostFunc"]
    launch.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    address = ctypes.cast(function, ctypes.c_void_p)
    stream, wait = lib.stream, lib.calls.bare_synchronize
    return Way(
        stream,
        calls_of(launch, stream, address, None),
        lambda: launch(stream, address, None),
        lambda: wait(stream),
        keeps=function,
    )


def _step(function):
    def make(lib):
        path = os.path.join(lib.folder, "launch_steps.so")
        if not os.path.isfile(path):
            raise ImportError("Python.h is not installed")
        spec = importlib.util.spec_from_file_location("launch_steps", path)
        steps = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(steps)
        names = ("bare_launch_checked", "bare_synchronize", "bare_nothing")
        steps.use(*map(lib.address, names))
        call, stream = getattr(steps, function), lib.stream
        return Way(
            stream,
            calls_of(call, stream, nothing),
            lambda: call(stream, nothing),
            lambda: steps.sync(stream),
            keeps=steps,
        )

    return make


# Other libraries.


def _bindings(lib, function):
    from cuda.bindings import driver

    code = driver.cuInit(0)[0]
    if int(code) != 0:
        raise RuntimeError(f"cuInit returned {code!r}")
    stream = driver.CUstream(lib.stream)
    address = driver.CUhostFn(ctypes.cast(function, ctypes.c_void_p).value)
    return Way(
        lib.stream,
        calls_of(driver.cuLaunchHostFunc, stream, address, 0),
        lambda: driver.cuLaunchHostFunc(stream, address, 0),
        lambda: driver.cuStreamSynchronize(stream),
        keeps=function,
    )


def _bindings_python(lib):
    return _bindings(lib, ctypes.CFUNCTYPE(None, ctypes.c_void_p)(nothing_with))


def _bindings_compiled(lib):
    return _bindings(lib, lib.nothing_function())


def _cupy(method, function):
    def make(_):
        import cupy

        stream = cupy.cuda.Stream(non_blocking=True)
        call = getattr(stream, method)
        return Way(
            stream.ptr,
            calls_of(call, function, None),
            lambda: call(function, None),
            stream.synchronize,
            keeps=stream,
        )

    return make


def _numba(_):
    from numba import cuda

    stream = cuda.stream()
    call = stream.add_callback
    return Way(
        int(stream.__cuda_stream__()[1]),
        calls_of(call, nothing_with_status, None),
        lambda: call(nothing_with_status, None),
        stream.synchronize,
        keeps=stream,
    )


def _core_graph(_):
    import cuda.core.graph  # noqa: F401 (absent in versions without builders of callbacks)

    stream = _core_stream()
    builder = stream.create_graph_builder().begin_building()
    for _ in repeat(None, 100):
        builder.callback(nothing)
    graph = builder.end_building().complete()
    graph.upload(stream)

    def enqueue(calls):
        begin = now()
        for _ in repeat(None, calls // 100):
            graph.launch(stream)
        return now() - begin

    return Way(int(stream.handle), enqueue, None, stream.sync, graph_stream=stream, keeps=graph)


def _core_host_launch(_):
    try:
        from cuda.core import host_launch
    except ImportError:
        raise ImportError("this cuda.core has none") from None
    stream = _core_stream()
    return Way(
        int(stream.handle),
        calls_of(host_launch, stream, nothing),
        lambda: host_launch(stream, nothing),
        stream.sync,
        keeps=stream,
    )


BARE = "capture check + launch, from C"  # what every process measures besides
ALONE = "launch alone, from C"
OWN = "hostlaunch"
CORE_GRAPH = "cuda.core GraphBuilder.callback"
MAKERS = {
    ALONE: _from_c,
    OWN: _own,
    "hostlaunch, foreign stream": _foreign,
    "hostlaunch, torch stream": _on_torch,
    "hostlaunch, CuPy stream": _on_cupy,
    "hostlaunch, cuda.core stream": _on_core,
    "hostlaunch, numba-cuda stream": _on_numba,
    "cuda.core host_launch": _core_host_launch,
    CORE_GRAPH: _core_graph,
    "cuda.bindings, ctypes callback": _bindings_python,
    "CuPy launch_host_func": _cupy("launch_host_func", nothing_with),
    "CuPy add_callback": _cupy("add_callback", nothing_with_status),
    "numba-cuda add_callback": _numba,
    "ctypes by hand": _by_hand,
    "hostlaunch, C function as is, pointer": _as_is_pointer,
    "hostlaunch, C function as is, 64 bytes copied": _as_is_copied,
    "C function through cuda.bindings": _bindings_compiled,
    "C function through ctypes": _compiled_by_hand,
    "step: a call of C that does nothing": _step("nothing"),
    "step: leave the GIL and take it": _step("detach"),
    "step: + the driver, a C function": _step("launch_compiled"),
    "step: + attach a kept thread state": _step("launch_attaching"),
    "step: + call the Python callable": _step("launch_kept"),
    "step: the same, thread state made each time": _step("launch_made"),
}
# Other libraries' and handwritten ways to run a Python callable.
PEERS = (
    "cuda.core host_launch",
    CORE_GRAPH,
    "cuda.bindings, ctypes callback",
    "CuPy launch_host_func",
    "CuPy add_callback",
    "numba-cuda add_callback",
    "ctypes by hand",
)
# Those whose enqueuing is one launch a callback.
LAUNCHING_PEERS = tuple(name for name in PEERS if name != CORE_GRAPH)
# Steps that do not enter the driver.
NO_LAUNCH = ("step: a call of C that does nothing", "step: leave the GIL and take it")

# The distributions that they come from.
DISTRIBUTIONS = (
    "cuda-bindings",
    "cuda-core",
    "cupy-cuda13x",
    "cupy-cuda12x",
    "numba-cuda",
    "torch",
)


NEEDS_GPU = "absent (needs the NVIDIA driver)"


def needs_other_library(name):
    """Tell whether a way needs a library that works on the NVIDIA driver alone."""
    return any(word in name for word in ("cuda.", "CuPy", "numba", "torch"))
