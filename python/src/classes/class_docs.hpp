// SPDX-License-Identifier: Apache-2.0
// Docstrings of Stream, Event and Buffer: a header alone, for it is text.
#pragma once

namespace hostlaunch::python::docs {

inline constexpr const char* stream_init_sig =
    "def __init__(self, device_id: SupportsIndex | None = None, *, nonblocking: bool = True, "
    "priority: SupportsIndex | None = None) -> None";
inline constexpr const char* stream_wait_sig =
    "def wait(self, event_or_stream: Event | StreamLike) -> None";
inline constexpr const char* buffer_init_sig =
    "def __init__(self, nbytes: SupportsIndex, *, kind: Literal['device', 'pinned'] = 'device', "
    "device_id: SupportsIndex | None = None) -> None";
inline constexpr const char* exit_sig =
    "def __exit__(self, exc_type: type[BaseException] | None, exc: BaseException | None, "
    "traceback: TracebackType | None, /) -> None";

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
TypeError
    An argument of another type.
ValueError
    A negative device_id, or a priority out of range.
RuntimeError
    There is no usable driver library, or the call comes from inside a host function or in a forked
    child.
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
    A stream that never destroys the handle. The caller keeps the handle valid. The driver is not
    entered yet: what is wrong with it or with the handle is told by the stream's first use.

Raises
------
TypeError
    The handle is no int.
OverflowError
    It is negative or over 64 bits.

Examples
--------
>>> borrowed = hostlaunch.Stream.from_handle(stream.handle)
>>> borrowed.sync()
)";

inline constexpr const char* sync_sig =
    "def sync(self, timeout: float | None = None, *, blocking: bool | None = None) -> None";

inline constexpr const char* stream_sync = R"(Wait until all work enqueued so far has completed.

Detaches from the interpreter while it waits. On the main thread it also releases functions that
have run. With a timeout signals interrupt it; without one Ctrl-C is raised when it returns.

Parameters
----------
timeout : float, optional
    The longest time to wait, in seconds; 0 only looks. None (default): no limit.
blocking : bool, optional
    True: sleep instead of keeping a processor busy, for half a millisecond more at the end. None
    (default): as ``HOSTLAUNCH_BLOCKING_SYNC`` says. A wait with a timeout sleeps always.

Raises
------
TimeoutError
    The work was not done in time. Nothing is lost: it goes on, and may be waited for again.
CUDAError
    An error of this or earlier asynchronous work, or the stream captures: then the capture is
    invalidated.
RuntimeError
    The stream is closed, no context is current for a default stream, or the call comes from inside
    a host function (where it would deadlock) or in a forked child.
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

Raises
------
TypeError
    `event` is no Event.
RuntimeError
    The stream or the event is closed, no context is current for a default stream, or the call comes
    from inside a host function or in a forked child.
CUDAError
    The driver refused, for example an event of another context.

Examples
--------
>>> hostlaunch.host_launch(stream, work)
>>> event = stream.record()
>>> event.sync()
>>> event.is_done
True
)";

inline constexpr const char* stream_wait = R"(Let later work of this stream wait.

Does not block the caller.

Parameters
----------
event_or_stream : Event, Stream or object with a ``__cuda_stream__`` method
    Wait for the event's last record, or for all work enqueued on the other stream so far. Other
    contexts and devices are allowed.

Raises
------
TypeError
    It is neither an event nor a stream.
ValueError
    A default stream whose object names a device out of range.
RuntimeError
    The stream, the event or the other stream is closed, no context is current for a default stream,
    or the call comes from inside a host function or in a forked child.
CUDAError
    The driver refused.

Examples
--------
>>> other = hostlaunch.Stream()
>>> other.wait(stream)
>>> hostlaunch.host_launch(other, work)  # runs behind all that `stream` has now
>>> other.sync()
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
    The stream is closed, or the call comes from inside a host function or in a forked child.

Examples
--------
>>> builder = stream.create_graph_builder().begin_building()
)";

inline constexpr const char* stream_close = R"(Destroy the stream; closing twice is allowed.

Functions that are pending still run. Calls in progress on other threads end first. A borrowed
handle is left alone.
)";

inline constexpr const char* stream_handle =
    "int: the ``CUstream``. A closed stream does not tell it: RuntimeError.";

inline constexpr const char* stream_device_id = R"(int: the ordinal of the stream's device.

Raises
------
RuntimeError
    The stream is closed, no context is current for a default stream, or the call comes from inside
    a host function or in a forked child.
CUDAError
    It is borrowed, and the driver refused to tell.
)";

inline constexpr const char* cuda_stream = "The CUDA stream protocol: ``(0, handle)``.";

inline constexpr const char* event = R"(A point in a stream's work, made by `Stream.record`.

Does not measure time. Usable from any thread.

Examples
--------
>>> event = stream.record()
>>> hostlaunch.Stream().wait(event)  # on the device
>>> event.sync()  # on the host
)";

inline constexpr const char* event_sync = R"(Wait until the work before the record has completed.

Detaches from the interpreter while it waits; on the main thread it also releases functions that
have run.

Parameters
----------
timeout : float, optional
    As for `Stream.sync`.
blocking : bool, optional
    As for `Stream.sync`.

Raises
------
TimeoutError
    The work was not done in time. Nothing is lost: it goes on, and may be waited for again.
CUDAError
    An error of earlier asynchronous work, or the event was recorded in a capture: then the capture
    is invalidated.
RuntimeError
    The event is closed, or the call comes from inside a host function (where it could deadlock) or
    in a forked child.
)";

inline constexpr const char* event_close = "Destroy the event; closing twice is allowed.";
inline constexpr const char* event_handle =
    "int: the ``CUevent``. A closed event does not tell it: RuntimeError.";

inline constexpr const char* event_is_done =
    R"(bool: True if the work before the record has completed. Does not wait.

Raises
------
CUDAError
    An error of earlier asynchronous work, or the event was recorded in a capture: then the capture
    is invalidated.
RuntimeError
    The event is closed, or the call comes from inside a host function or in a forked child.
)";

inline constexpr const char* buffer =
    R"(Memory of a fixed size to order work against: device memory or pinned host memory.

A pinned buffer exports its memory, writable, through the buffer protocol: ``memoryview(buf)``,
``numpy.frombuffer(buf, dtype=...)``. Device memory and a closed buffer refuse that with
`BufferError`.

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
TypeError
    An argument of another type.
ValueError
    A size that is not positive or over 63 bits, an unknown kind, or a negative device_id.
RuntimeError
    There is no usable driver library, or the call comes from inside a host function or in a forked
    child.
CUDAError
    The driver refused, for example ``CUDA_ERROR_OUT_OF_MEMORY``.

Examples
--------
>>> device = hostlaunch.Buffer(4)
>>> host = hostlaunch.Buffer(4, kind="pinned")
>>> device.fill(7, stream=stream)
>>> device.copy_to(host, stream=stream)
>>> stream.sync()
>>> bytes(memoryview(host))
b'\x07\x07\x07\x07'
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
TypeError
    `dst` is no Buffer, or `stream` no stream.
ValueError
    The sizes differ, or a default stream's object names a device out of range.
RuntimeError
    A buffer or the stream is closed, no context is current for a default stream, or the call comes
    from inside a host function or in a forked child.
CUDAError
    The driver refused.
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
TypeError
    `src` is no Buffer, or `stream` no stream.
ValueError
    The sizes differ, or a default stream's object names a device out of range.
RuntimeError
    A buffer or the stream is closed, no context is current for a default stream, or the call comes
    from inside a host function or in a forked child.
CUDAError
    The driver refused.
)";

inline constexpr const char* fill = R"(Enqueue setting every byte of the buffer.

Parameters
----------
value : int
    From 0 to 255.
stream : Stream or object with a ``__cuda_stream__`` method
    Where to enqueue it.

Raises
------
TypeError
    The value is no int, or `stream` no stream.
ValueError
    The value is below 0 or over 255, or a default stream's object names a device out of range.
RuntimeError
    The buffer or the stream is closed, no context is current for a default stream, or the call
    comes from inside a host function or in a forked child.
CUDAError
    The driver refused.
)";

inline constexpr const char* buffer_close = R"(Free the memory; closing twice is allowed.

The driver waits for all work of the buffer's context first, so this can block. Memory that views
export lives until the last view is released.
)";

inline constexpr const char* buffer_handle =
    "int: the address of the memory. A closed buffer does not tell it: RuntimeError.";
inline constexpr const char* buffer_nbytes = "int: the size in bytes.";

}  // namespace hostlaunch::python::docs
