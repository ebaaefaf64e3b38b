# SPDX-License-Identifier: Apache-2.0
"""Host functions in CUDA stream order.

`host_launch` enqueues a function on a CUDA stream: it runs on a thread of the driver once all
earlier work of the stream has completed, and later work waits for it. Streams of cuda.core,
PyTorch, CuPy and numba-cuda are accepted as they are. Without an NVIDIA GPU everything runs on an
embedded driver.

>>> import hostlaunch
>>> with hostlaunch.Stream() as stream:
...     hostlaunch.host_launch(stream, lambda: print("in stream order"))
...     stream.sync()
in stream order
"""

from hostlaunch import _native, _signatures
from hostlaunch._diagnosis import PendingTask, named, pending, trace, watchdog
from hostlaunch._errors import CUDAError, EmbeddedDriverWarning
from hostlaunch._info import DriverInfo, Stats, driver, stats
from hostlaunch._native import (
    Buffer,
    Event,
    Future,
    Graph,
    GraphBuilder,
    GraphNode,
    Stream,
    __version__,
    host_launch,
    submit,
    work_done,
)
from hostlaunch._types import HostFunction, StreamLike

__all__ = [
    "Buffer",
    "CUDAError",
    "DriverInfo",
    "EmbeddedDriverWarning",
    "Event",
    "Future",
    "Graph",
    "GraphBuilder",
    "GraphNode",
    "HostFunction",
    "PendingTask",
    "Stats",
    "Stream",
    "StreamLike",
    "__version__",
    "driver",
    "host_launch",
    "named",
    "pending",
    "stats",
    "submit",
    "trace",
    "watchdog",
    "work_done",
]

_signatures.install(Buffer, Event, Graph, GraphBuilder, GraphNode, Stream)
_native._imported()  # from here on it can be imported once
