// SPDX-License-Identifier: Apache-2.0
// The docstrings of Future. A header alone: text.
#pragma once

namespace hostlaunch::python::future_docs {

constexpr const char* future = R"(The outcome of a task, which `submit` and `work_done` return.

A `concurrent.futures.Future`, so ``result(timeout)``, ``add_done_callback``,
`concurrent.futures.wait` and ``as_completed`` work; and it can be awaited in asyncio, where
cancelling the task that awaits it cancels it. It ends as exactly one of: a result, the exception of
the function, cancelled (also if the interpreter exits first, and in the child of a fork), or
`CUDAError` if the context of its stream failed first.

Notes
-----
``asyncio.wait`` takes ``asyncio.ensure_future(future)``; it is refused there as it is.

Examples
--------
>>> future = hostlaunch.submit(stream, sum, [1, 2, 3])
>>> future.result(timeout=60)
6
)";

constexpr const char* done = R"(done($self, /)
--

Whether it has ended.

Returns
-------
bool
    True once there is a result or an exception, or it was cancelled.

Examples
--------
>>> future.done()
True
)";

constexpr const char* running = R"(running($self, /)
--

Whether its function runs now.

Returns
-------
bool
    True from the start of the function to its end.

Examples
--------
>>> future.running()
False
)";

constexpr const char* cancelled = R"(cancelled($self, /)
--

Whether it was cancelled.

Returns
-------
bool
    True also if the interpreter exited first, and in the child of a fork.

Examples
--------
>>> future.cancelled()
False
)";

constexpr const char* cancel = R"(cancel($self, /)
--

Take the function back, if it has not started.

It and its arguments are released at once on the main thread, and nothing runs. The stream is not
concerned.

Returns
-------
bool
    True if the future is cancelled now; False if its function has started or ended.

Examples
--------
>>> future.cancel()
False
)";

constexpr const char* result = R"(result($self, /, timeout=None)
--

Wait for the end and return what the function returned, or raise what it raised.

Parameters
----------
timeout : float, optional
    Seconds to wait at most.

Returns
-------
object
    What the function returned; of `work_done` the stream.

Raises
------
TimeoutError
    It has not ended; nothing is lost.
concurrent.futures.CancelledError
    It was cancelled.
CUDAError
    The context of its stream failed before the function could start.

Examples
--------
>>> future.result(timeout=60)
6
)";

constexpr const char* exception = R"(exception($self, /, timeout=None)
--

Wait for the end and return what the function raised.

Parameters
----------
timeout : float, optional
    Seconds to wait at most.

Returns
-------
BaseException or None
    None if the function returned.

Raises
------
TimeoutError
    It has not ended; nothing is lost.
concurrent.futures.CancelledError
    It was cancelled.

Examples
--------
>>> future.exception(timeout=60) is None
True
)";

constexpr const char* add_done_callback = R"(add_done_callback($self, fn, /)
--

Call ``fn(future)`` at the end: on the thread that ends the future, or at once if it has ended.

Parameters
----------
fn : callable
    Called with the future. What it raises is logged, by the logger ``concurrent.futures``.

Raises
------
TypeError
    By ``asyncio.wait``, which takes ``asyncio.ensure_future(future)``.

Examples
--------
>>> future.add_done_callback(lambda f: print(f.result()))
6
)";

constexpr const char* set_result = R"(set_result($self, result, /)
--

Refuse to be told an outcome, which comes from the stream and the function.

Parameters
----------
result : object
    Not used.

Raises
------
RuntimeError
    Always.
)";

constexpr const char* set_exception = R"(set_exception($self, exception, /)
--

Refuse to be told an outcome, which comes from the stream and the function.

Parameters
----------
exception : BaseException
    Not used.

Raises
------
RuntimeError
    Always.
)";

constexpr const char* set_running = R"(set_running_or_notify_cancel($self, /)
--

Refuse to be started, which the stream does.

Raises
------
RuntimeError
    Always.
)";

}  // namespace hostlaunch::python::future_docs
