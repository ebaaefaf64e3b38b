# SPDX-License-Identifier: Apache-2.0
"""A short test of the library on this machine, for reports: five things that must work."""

import ctypes
import sys
import time
import weakref
from collections.abc import Callable

from hostlaunch._native import Buffer, Stream, host_launch

_LIMIT = 10.0  # seconds, for each wait


class _TestFailedError(Exception):
    """What did not happen."""


def _expect(condition: bool, text: str) -> None:
    if not condition:
        raise _TestFailedError(text)


def _wait(stream: Stream) -> None:
    # Not `sync`: a driver that hangs must not hang the report.
    event = stream.record()
    limit = time.monotonic() + _LIMIT
    while not event.is_done:
        _expect(time.monotonic() < limit, f"the stream did not get there within {_LIMIT:g} s")
        time.sleep(0.0005)
    stream.sync()


def _runs_in_order(stream: Stream) -> None:
    seen = []
    device, host = Buffer(64), Buffer(64, kind="pinned")
    for value in (7, 8):
        device.fill(value, stream=stream)
        device.copy_to(host, stream=stream)
        host_launch(stream, lambda: seen.append(bytes(memoryview(host))))
    _wait(stream)
    _expect(seen == [b"\x07" * 64, b"\x08" * 64], f"the functions saw {seen}")


def _runs_compiled_code(stream: Stream) -> None:
    libc = ctypes.CDLL(None)
    semaphore = ctypes.create_string_buffer(64)
    post = libc.sem_post
    post.restype, post.argtypes = None, (ctypes.c_void_p,)
    _expect(libc.sem_init(semaphore, 0, 0) == 0, "there is no semaphore to be had")
    host_launch(stream, post, user_data=ctypes.addressof(semaphore))
    _wait(stream)
    posted = ctypes.c_int()
    libc.sem_getvalue(semaphore, ctypes.byref(posted))
    _expect(posted.value == 1, f"it ran {posted.value} times")


def _tells_exceptions(stream: Stream) -> None:
    told = []
    ran = []
    hook, sys.unraisablehook = sys.unraisablehook, lambda raised: told.append(raised.exc_type)
    try:
        host_launch(stream, lambda: 1 // 0)
        host_launch(stream, lambda: ran.append(1))
        _wait(stream)
    finally:
        sys.unraisablehook = hook
    _expect(told == [ZeroDivisionError], f"sys.unraisablehook was told {told}")
    _expect(ran == [1], "the stream did not go on")


def _replays_graphs(stream: Stream) -> None:
    ran = []
    builder = stream.create_graph_builder()
    builder.begin_building()
    builder.callback(lambda: ran.append(1))
    graph = builder.end_building().complete()
    for _ in range(3):
        graph.launch(stream)
    _wait(stream)
    graph.close()
    builder.close()
    _expect(len(ran) == 3, f"three replays ran it {len(ran)} times")


def _releases(stream: Stream) -> None:
    class Payload:
        def __call__(self) -> None:
            pass

    payload = Payload()
    alive = weakref.ref(payload)
    host_launch(stream, payload)
    del payload
    _wait(stream)
    limit = time.monotonic() + _LIMIT
    while alive() is not None and time.monotonic() < limit:
        time.sleep(0.0005)
    _expect(alive() is None, "what has run was not released")


_TESTS: dict[str, Callable[[Stream], None]] = {
    "functions run in stream order": _runs_in_order,
    "compiled code runs": _runs_compiled_code,
    "an exception is told, and the stream goes on": _tells_exceptions,
    "a graph runs its function in each replay": _replays_graphs,
    "a function is released when it has run": _releases,
}


def run() -> dict[str, str]:
    """Run all tests, and return what went wrong for each: nothing, or one line."""
    results = {}
    for name, test in _TESTS.items():
        try:
            with Stream() as stream:
                test(stream)
            results[name] = ""
        except _TestFailedError as failure:
            results[name] = str(failure)
        except Exception as error:  # whatever it is, the report goes on
            results[name] = f"{type(error).__name__}: {error}"
    return results
