// SPDX-License-Identifier: Apache-2.0
// Docstrings of GraphBuilder, Graph and GraphNode: a header alone, for it is text.
#pragma once

namespace hostlaunch::python::docs {

inline constexpr const char* begin_building_sig =
    "def begin_building(self, mode: Literal['relaxed', 'global', 'thread_local'] = 'relaxed') -> "
    "Self";

inline constexpr const char* graph_node =
    R"(A host function's place in a graph, for `Graph.update_callback`.

Returned by `GraphBuilder.callback`. Good for graphs made from that builder, until such a graph is
updated from another one. Of an attached builder it is of no use.

Examples
--------
>>> node = builder.callback(log_step)
>>> graph = builder.end_building().complete()
>>> graph.update_callback(node, log_last_step)
)";

inline constexpr const char* graph_builder = R"(Builds a CUDA graph by capturing a stream.

Made by `Stream.create_graph_builder`, or by `attach` for a capture that another library began.
While it builds, work on its stream is recorded instead of run: ``host_launch(builder, fn)``, copies
and fills of `Buffer`, events, and what other libraries enqueue there. Each launch of the graph then
runs all of it once, in the order of the capture.

While a stream captures, do not sync it, nor ask or wait for an event recorded in the capture: the
driver refuses, and the capture is invalidated.

Any thread may use a builder; calls take turns. A function lives until no graph can run it, then it
is released on the main thread. Memory and events that captured work uses must outlive the graph.

Examples
--------
>>> stream = hostlaunch.Stream()
>>> builder = stream.create_graph_builder().begin_building()
>>> hostlaunch.host_launch(builder, step)
>>> graph = builder.end_building().complete()
>>> for _ in range(100):
...     graph.launch(stream)
>>> stream.sync()
)";

inline constexpr const char* attach = R"(Adopt a capture that is in progress on a stream.

For use inside ``torch.cuda.graph(...)`` or CuPy's capture: ``host_launch(builder, fn)`` then adds a
host function that lives as long as the other library's graph. That library ends the capture:
`end_building` and `complete` raise, and `close` only detaches.

Parameters
----------
stream : Stream or object with a ``__cuda_stream__`` method
    A stream that captures, such as ``torch.cuda.current_stream()``.

Returns
-------
GraphBuilder
    Already building.

Raises
------
TypeError
    It is no stream.
ValueError
    A default stream whose object names a device out of range.
RuntimeError
    The stream does not capture or is closed, no context is current for a default stream, or the
    call comes from inside a host function or in a forked child. Later calls raise it too once that
    capture has ended, also if another one has begun on the stream.
CUDAError
    The capture was invalidated, or the driver refused.

Examples
--------
>>> graph = torch.cuda.CUDAGraph()
>>> with torch.cuda.graph(graph):
...     builder = hostlaunch.GraphBuilder.attach(torch.cuda.current_stream())
...     hostlaunch.host_launch(builder, step)
>>> graph.replay()
)";

inline constexpr const char* begin_building = R"(Begin to capture the stream.

Parameters
----------
mode : {"relaxed", "global", "thread_local"}
    Which calls elsewhere the capture forbids while it lasts (``CUstreamCaptureMode``). In the last
    two only the thread that began it can end it.

Returns
-------
GraphBuilder
    The builder.

Raises
------
TypeError
    The mode is no str.
ValueError
    Another mode.
RuntimeError
    The builder is closed, has built before, is attached, or the stream captures already; no context
    is current for a default stream; or the call comes from inside a host function or in a forked
    child.
CUDAError
    The driver refused.
)";

inline constexpr const char* end_building = R"(End the capture.

Returns
-------
GraphBuilder
    The builder.

Raises
------
CUDAError
    The capture was invalidated, or streams that joined it were not joined back; then nothing was
    built, and `begin_building` may be called again. ``CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD``:
    another thread began it in another mode than "relaxed"; then the capture goes on.
RuntimeError
    The builder is closed, not building, or another library began the capture; or the call comes
    from inside a host function or in a forked child.
)";

inline constexpr const char* callback = R"(Add a host function behind what was captured so far.

The same as ``host_launch(builder, fn, user_data=user_data)``, which see for the arguments and their
errors. Each launch of the graph runs it once more.

Parameters
----------
fn : callable or ctypes function pointer
    Two graphs that run at the same time may call it at the same time.
user_data : int or bytes-like, optional
    Only with a ctypes function pointer. A copy lives as long as the function.

Returns
-------
GraphNode
    Names the function's place in the graph.

Raises
------
TypeError, ValueError, OverflowError, BufferError, MemoryError
    As for `host_launch`.
RuntimeError
    The builder is closed or not building, or its capture has ended; or the call comes from inside a
    host function, in a forked child or after interpreter exit has begun.
CUDAError
    The driver refused; then no node was added and nothing is kept.

Examples
--------
>>> node = builder.callback(step)
>>> graph = builder.end_building().complete()
>>> graph.launch(stream)  # runs step
>>> stream.sync()
)";

inline constexpr const char* complete = R"(Make an executable graph of what was built.

Returns
-------
Graph
    Independent of the builder, which may make more of them.

Raises
------
RuntimeError
    The builder is closed, building has not ended, or another library began the capture; or the call
    comes from inside a host function or in a forked child.
CUDAError
    The driver refused.
)";

inline constexpr const char* builder_close = R"(Close the builder; closing twice is allowed.

A capture of its own in progress is given up: it ends and its functions are released. From an
attached capture it only detaches. Graphs made from it are not affected.
)";

inline constexpr const char* builder_stream =
    "StreamLike: the stream object that the builder captures.";

inline constexpr const char* is_building =
    R"(bool: True while its capture is in progress, which is asked of the driver.

Raises
------
RuntimeError
    Asked from inside a host function or in a forked child.
CUDAError
    The driver refused to tell.
)";

inline constexpr const char* graph = R"(An executable CUDA graph, made by `GraphBuilder.complete`.

Launches of one graph never overlap, whichever streams they are on. Any thread may use it; calls
take turns.

Examples
--------
>>> graph = builder.end_building().complete()
>>> for _ in range(3):
...     graph.launch(stream)
>>> stream.sync()
)";

inline constexpr const char* graph_upload = R"(Prepare the graph on the device ahead of a launch.

Parameters
----------
stream : Stream or object with a ``__cuda_stream__`` method
    Where the preparation is enqueued.

Raises
------
TypeError
    It is no stream.
ValueError
    A default stream whose object names a device out of range.
RuntimeError
    The graph or the stream is closed, the stream captures, no context is current for a default
    stream, or the call comes from inside a host function or in a forked child.
CUDAError
    The driver refused.
)";

inline constexpr const char* graph_launch = R"(Enqueue one run of the graph.

Parameters
----------
stream : Stream or object with a ``__cuda_stream__`` method
    The run comes behind all work enqueued there, and behind earlier launches of this graph.

Raises
------
TypeError
    It is no stream.
ValueError
    A default stream whose object names a device out of range.
RuntimeError
    The graph or the stream is closed, the stream captures, no context is current for a default
    stream, or the call comes from inside a host function, in a forked child or after interpreter
    exit has begun.
CUDAError
    The driver refused.
)";

inline constexpr const char* graph_update = R"(Take over what another builder built.

Future launches run the new work and functions; launches in flight go on with the old ones. A failed
update changes nothing.

Parameters
----------
builder : GraphBuilder
    Ended, with the same topology: the same kinds of nodes with the same dependencies, in the same
    order.

Raises
------
TypeError
    It is no GraphBuilder.
ValueError
    The builder is still building.
RuntimeError
    The graph or the builder is closed, the builder has built nothing or is attached, or the call
    comes from inside a host function or in a forked child.
CUDAError
    ``CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE`` if the topologies differ, or the driver refused.

Examples
--------
>>> node = builder.callback(log_step)
>>> graph = builder.end_building().complete()
>>> another = stream.create_graph_builder().begin_building()
>>> node = another.callback(log_last_step)
>>> graph.update(another.end_building())
)";

inline constexpr const char* update_callback = R"(Give one node another host function.

Future launches run it; launches in flight keep the former one alive. A failed update changes
nothing.

Parameters
----------
node : GraphNode
    What `GraphBuilder.callback` returned.
fn : callable or ctypes function pointer
    As for `host_launch`.
user_data : int or bytes-like, optional
    As for `host_launch`.

Raises
------
TypeError
    The node is no GraphNode, or as for `host_launch`.
ValueError, OverflowError, BufferError, MemoryError
    As for `host_launch`.
RuntimeError
    The graph is closed, or the node is not one of it; or the call comes from inside a host
    function, in a forked child or after interpreter exit has begun.
CUDAError
    The driver refused. A graph with memory nodes cannot be cloned, which is needed while its
    builder or another graph made from that is open.

Examples
--------
>>> node = builder.callback(log_step)
>>> graph = builder.end_building().complete()
>>> graph.update_callback(node, log_last_step)
)";

inline constexpr const char* graph_handle =
    "int: the ``CUgraphExec``. A closed graph does not tell it: RuntimeError.";

inline constexpr const char* graph_close = R"(Destroy the graph; closing twice is allowed.

Launches in flight go on; functions are released once nothing can run them.
)";

}  // namespace hostlaunch::python::docs
