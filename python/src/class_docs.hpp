// SPDX-License-Identifier: Apache-2.0
// Docstrings of Stream, Event and Buffer.
#pragma once

namespace hostlaunch::python::docs {

inline constexpr const char* stream_init_sig =
    "def __init__(self, device_id: int | None = None, *, nonblocking: bool = True, "
    "priority: int | None = None) -> None";
inline constexpr const char* stream_wait_sig =
    "def wait(self, event_or_stream: Event | StreamLike) -> None";
inline constexpr const char* buffer_init_sig =
    "def __init__(self, nbytes: int, *, kind: str = 'device', device_id: int | None = None) -> "
    "None";

inline constexpr const char* is_closed = "bool: True once `close` was called.";

inline constexpr const char* stream =
    R"(A CUDA stream: work enqueued on it runs in order.

Usable as a context manager, which closes it at the end, and from any thread.

Parameters
----------
device_id : int, optional
    Ordinal of the device; its primary context is used. Default: the current context, or device 0
    if there is none.
nonblocking : bool
    True (default): the stream does not synchronise with the legacy default stream.
priority : int, optional
    Within the range that the device supports; lower numbers are more urgent. Default 0.

Raises
------
ValueError
    A negative device_id, or a priority out of range.
CUDAError
    The driver refused, for example an ordinal that does not exist.

Examples
--------
>>> with hostlaunch.Stream() as stream:
...     hostlaunch.host_launch(stream, work)
...     stream.sync()
)";

inline constexpr const char* from_handle = R"(Borrow a stream by its handle.

Parameters
----------
handle : int
    A ``CUstream`` or ``cudaStream_t``; 0, 1 and 2 are the default streams of the current context.

Returns
-------
Stream
    A stream that never destroys the handle. The caller keeps the handle valid.
)";

inline constexpr const char* stream_sync = R"(Wait until all work enqueued so far has completed.

Detaches from the interpreter while it waits. On the main thread it also releases functions that
have run. Not interrupted by signals: Ctrl-C is raised when it returns.

Raises
------
CUDAError
    An error of this or earlier asynchronous work.
RuntimeError
    Called from inside a host function, where it would deadlock.
)";

inline constexpr const char* stream_record = R"(Record an event behind all work enqueued so far.

Parameters
----------
event : Event, optional
    An event of the same context to record again; default: a new one.

Returns
-------
Event
    The event: `event` if it was given.
)";

inline constexpr const char* stream_wait = R"(Let later work of this stream wait.

Does not block the caller.

Parameters
----------
event_or_stream : Event, Stream or object with a ``__cuda_stream__`` method
    Wait for the event's last record, or for all work enqueued on the other stream so far. Other
    contexts and devices are allowed.
)";

inline constexpr const char* create_graph_builder =
    R"(Make a builder that captures this stream into a graph.

Returns
-------
GraphBuilder
    Not building yet: call its `begin_building`. The stream stays open until the builder is closed.

Raises
------
RuntimeError
    The stream is closed.

Examples
--------
>>> builder = stream.create_graph_builder().begin_building()
)";

inline constexpr const char* stream_close = R"(Destroy the stream; closing twice is allowed.

Functions that are pending still run. Calls in progress on other threads end first. A borrowed
handle is left alone.
)";

inline constexpr const char* cuda_stream = "The CUDA stream protocol: ``(0, handle)``.";

inline constexpr const char* event = R"(A point in a stream's work, made by `Stream.record`.

Does not measure time. Usable from any thread.
)";

inline constexpr const char* event_sync = R"(Wait until the work before the record has completed.

Detaches from the interpreter while it waits; on the main thread it also releases functions that
have run.

Raises
------
CUDAError
    An error of earlier asynchronous work.
RuntimeError
    Called from inside a host function, where it could deadlock.
)";

inline constexpr const char* event_close = "Destroy the event; closing twice is allowed.";
inline constexpr const char* event_is_done =
    "bool: True if the work before the record has completed. Does not wait.";

inline constexpr const char* buffer =
    R"(Memory of a fixed size to order work against: device memory or pinned host memory.

A pinned buffer exports its memory, writable, through the buffer protocol: ``memoryview(buf)``,
``numpy.frombuffer(buf, dtype=...)``.

It may be closed, or die, before the work that uses it has run: to free memory, the driver waits for
all work of the buffer's context, and at exit memory is left to the process. Keep it open for work
of other contexts and as long as a graph that uses it may be launched.

Parameters
----------
nbytes : int
    Size in bytes, positive.
kind : {"device", "pinned"}
    Where the memory lies. Default "device".
device_id : int, optional
    Ordinal of the device; its primary context is used. Default: the current context, or device 0
    if there is none.

Raises
------
ValueError
    A size that is not positive, or an unknown kind.
CUDAError
    The driver refused, for example CUDA_ERROR_OUT_OF_MEMORY.
)";

inline constexpr const char* copy_to = R"(Enqueue a copy of the whole buffer to another.

Parameters
----------
dst : Buffer
    Of the same size. Between two pinned buffers the driver copies during the call, once earlier
    work of the stream has completed (seen on an H200).
stream : Stream or object with a ``__cuda_stream__`` method
    Where to enqueue the copy.

Raises
------
ValueError
    The sizes differ.
)";

inline constexpr const char* copy_from = R"(Enqueue a copy of a whole other buffer into this one.

Parameters
----------
src : Buffer
    Of the same size. Between two pinned buffers the driver copies during the call, once earlier
    work of the stream has completed (seen on an H200).
stream : Stream or object with a ``__cuda_stream__`` method
    Where to enqueue the copy.

Raises
------
ValueError
    The sizes differ.
)";

inline constexpr const char* fill = R"(Enqueue setting every byte of the buffer.

Parameters
----------
value : int
    From 0 to 255.
stream : Stream or object with a ``__cuda_stream__`` method
    Where to enqueue it.
)";

inline constexpr const char* buffer_close = R"(Free the memory; closing twice is allowed.

The driver waits for all work of the buffer's context first, so this can block. Memory that views
export lives until the last view is released.
)";

inline constexpr const char* buffer_handle = "int: the address of the memory.";

}  // namespace hostlaunch::python::docs
