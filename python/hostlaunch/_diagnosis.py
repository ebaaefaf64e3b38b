# SPDX-License-Identifier: Apache-2.0
"""Seeing what happens: names, what is pending, a watchdog, a trace."""

import io
import os
import sys
from collections.abc import Callable
from types import TracebackType
from typing import NamedTuple, Protocol

from hostlaunch import _native


class _HasDescriptor(Protocol):
    def fileno(self) -> int: ...


class PendingTask(NamedTuple):
    """A function that was launched and has not ended, as `pending` lists them.

    Attributes
    ----------
    name : str
        What the function is called, see `named`.
    stream : int
        The handle of its stream.
    route : str
        How it gets to a thread: ``"driver thread"``, or ``"native"`` for compiled code that the
        driver calls itself.
    running : bool
        Whether it has begun, or waits for the GIL to begin. Nobody can tell of compiled code.
    age : float
        Seconds since the launch, in steps of up to 0.05.

    Examples
    --------
    >>> names = [task.name for task in hostlaunch.pending()]
    """

    name: str
    stream: int
    route: str
    running: bool
    age: float


PendingTask.__module__ = "hostlaunch"


def pending() -> list[PendingTask]:
    """List the functions that are pending or running.

    Each entry was true at a moment of the call; while nothing moves, there are as many as
    ``stats().pending + stats().running``. Host functions of graphs are not listed. It is for a
    debugger's prompt and for tests.

    Returns
    -------
    list of PendingTask
        In no order.

    Examples
    --------
    >>> hostlaunch.pending()
    []
    """
    return [PendingTask(*task) for task in _native._pending()]


class named:  # noqa: N801 - used as a function
    """Give a function the name that reports and traces use for it.

    Parameters
    ----------
    fn : callable or ctypes function pointer
        What `host_launch` takes as `fn`.
    name : str
        Any text; what is longer than 200 bytes is cut.

    Returns
    -------
    named
        Something that `host_launch` takes in place of `fn`.

    Raises
    ------
    TypeError
        `fn` is not callable, or `name` is no str.

    Examples
    --------
    >>> hostlaunch.host_launch(stream, hostlaunch.named(lambda: None, "nothing"))
    """

    __slots__ = ("_fn", "_name")

    def __init__(self, fn: Callable[[], object], name: str) -> None:
        if not callable(fn):
            raise TypeError(f"fn must be callable, not {type(fn).__name__}")
        if not isinstance(name, str):
            raise TypeError(f"name must be a str, not {type(name).__name__}")
        self._fn = fn
        self._name = name

    @property
    def fn(self) -> Callable[[], object]:
        """The function."""
        return self._fn

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    def __call__(self) -> object:
        """Call the function."""
        return self._fn()

    def __repr__(self) -> str:
        """Form it as the call that makes it."""
        return f"hostlaunch.named({self._fn!r}, {self._name!r})"


named.__module__ = "hostlaunch"
_native._set_named_type(named)


def _descriptor_of(file: _HasDescriptor | int | None) -> int:
    """Return a file descriptor of our own: the caller may close his."""
    if file is None:
        try:
            file = sys.stderr.fileno()
        except (AttributeError, io.UnsupportedOperation):
            file = 2  # what stands in for stderr has none: under pytest, in notebooks
    descriptor = file if isinstance(file, int) else file.fileno()
    return os.dup(descriptor)


def watchdog(seconds: float | None, file: _HasDescriptor | int | None = None) -> None:
    """Report what does not move.

    A thread of its own, which needs no GIL, looks whether a function has waited for the GIL, has
    run, or has been pending behind a stream that does not move, for `seconds`. Then it writes what
    stands still, who waits for whom, which rule fits, and the stacks of all Python threads. What
    goes on standing still is reported again each time that it has lasted twice as long. A function
    that is allowed to be slow is reported too: choose a larger limit.

    ``HOSTLAUNCH_WATCHDOG=SECONDS`` in the environment does the same from the first launch on, with
    ``sys.stderr``.

    Parameters
    ----------
    seconds : float or None
        The limit. None ends the watchdog.
    file : file object or int, optional
        Where to write: something with a file descriptor, or one. Default ``sys.stderr``.

    Raises
    ------
    ValueError
        `seconds` is not a positive number.
    RuntimeError
        In a forked child, or where no thread can be started.

    Examples
    --------
    >>> hostlaunch.watchdog(30)
    >>> hostlaunch.watchdog(None)
    """
    if seconds is None:
        _native._set_watchdog(0.0, -1)
        return
    if not 0 < seconds <= 1e6:
        raise ValueError(f"seconds must be a number from above 0 to a million, not {seconds!r}")
    _native._set_watchdog(float(seconds), _descriptor_of(file))


class trace:  # noqa: N801 - used as a function
    """Write what happens to each launch into a file, as a context manager.

    The file opens in https://ui.perfetto.dev and chrome://tracing. It shows for each thread and
    each stream when a function was launched, when the stream got there, how long it waited for the
    GIL, when it ran, how it ended, and when it was released; an arrow leads from each launch to its
    run. What a burst has too much of is left out and counted. One trace at a time.

    Parameters
    ----------
    path : str or os.PathLike
        The file to write; an old one is replaced.

    Attributes
    ----------
    events, lost : int
        How many events were written and how many left out, once the block has ended.

    Raises
    ------
    RuntimeError
        Another trace is being written.
    OSError
        The file cannot be written. At the end of the block: it could not be written whole.

    Examples
    --------
    >>> with hostlaunch.trace("run.json"):
    ...     hostlaunch.host_launch(stream, work)
    ...     stream.sync()
    """

    events: int
    lost: int

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fsencode(path)
        self.events = self.lost = 0

    def __enter__(self) -> "trace":
        """Begin to write."""
        _native._start_trace(self._path)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
        /,
    ) -> None:
        """Write what is left and close the file."""
        self.events, self.lost = _native._stop_trace(self._path)


trace.__module__ = "hostlaunch"
