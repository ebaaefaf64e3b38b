// SPDX-License-Identifier: Apache-2.0
// The docstrings of submit and work_done. A header alone: text.
#pragma once

namespace hostlaunch::python::submit_docs {

constexpr const char* submit = R"(submit(stream, fn, /, *args, **kwargs)
--

Run a function once the stream gets here, without holding the stream up.

``fn(*args, **kwargs)`` starts once all work enqueued on `stream` before this call has completed, on
a thread of a pool, with the stream's context current. The stream goes on at once. `fn` may call
CUDA, block, and call this library. Functions of one stream start in stream order; those of several
streams, and of one stream where one takes long, run at the same time.

Parameters
----------
stream : Stream or object with a ``__cuda_stream__`` method
    Where to enqueue: `hostlaunch.Stream`, streams of cuda.core, PyTorch, CuPy and numba-cuda.
fn : callable
    What to run. No coroutine function.
*args, **kwargs
    What it is called with. They and `fn` are released on the main thread.

Returns
-------
Future
    Ends with what `fn` returned or raised; see `Future`.

Raises
------
TypeError
    Wrong kind of stream or function; the message tells what is accepted.
ValueError
    A default stream whose object names a device out of range.
RuntimeError
    The stream is closed or captures a graph, or is a graph builder; no context is current for a
    default stream; the call comes from inside a host function, in a forked child or after
    interpreter exit has begun; or there is no usable driver library, or no thread to be had.
CUDAError
    The driver refused; then `fn` never runs and nothing is kept.
MemoryError
    There is none for the task.

Notes
-----
The pool has 4 threads, or as many as ``HOSTLAUNCH_WORKERS`` says when it is first used.

Examples
--------
>>> future = hostlaunch.submit(stream, sum, [1, 2, 3])
>>> future.result(timeout=60)
6
)";

constexpr const char* work_done = R"(work_done(stream, /)
--

Return a future that ends once the stream gets here.

Parameters
----------
stream : Stream or object with a ``__cuda_stream__`` method
    Whose work, as enqueued so far, to wait for.

Returns
-------
Future
    Its result is the object given as `stream`, so that many can be told apart.

Raises
------
TypeError
    Wrong kind of stream; the message tells what is accepted.
ValueError
    A default stream whose object names a device out of range.
RuntimeError
    The stream is closed or captures a graph, or is a graph builder; no context is current for a
    default stream; the call comes from inside a host function, in a forked child or after
    interpreter exit has begun; or there is no usable driver library, or no thread to be had.
CUDAError
    The driver refused; there is no future then.
MemoryError
    There is none for the future.

Examples
--------
>>> async def main():
...     return await hostlaunch.work_done(stream) is stream
>>> asyncio.run(main())
True
)";

}  // namespace hostlaunch::python::submit_docs
