# SPDX-License-Identifier: Apache-2.0
"""What the library tells about itself: the driver in use and the outcomes of launches."""

from typing import NamedTuple

from hostlaunch import _native


class DriverInfo(NamedTuple):
    """The driver in use.

    Attributes
    ----------
    name : str
        ``"cuda"`` or ``"embedded"``.
    version : int
        As ``cuDriverGetVersion`` tells it: 13000 for CUDA 13.0.
    path : str
        The file of the driver library.

    Examples
    --------
    >>> name, version, path = hostlaunch.driver()
    """

    name: str
    version: int
    path: str


class Stats(NamedTuple):
    """Counts of launches since the process began, as `stats` returns them.

    Attributes
    ----------
    accepted : int
        Launches that the driver accepted: the sum of the next seven, whenever nothing moves.
    pending, running : int
        Those that have not ended.
    ran, raised, abandoned, dropped, cancelled : int
        Those that have ended, by how.
    awaiting_release : int
        Ended launches that still hold their function until the main thread releases it.
    oldest_pending_ms : int
        How long the oldest pending launch has been pending, in milliseconds, in steps of up to 50.
    graph_callbacks : int
        Host functions that graphs hold now. They run any number of times and count on their own.
    graph_ran, graph_raised : int
        How often they returned or raised.

    Examples
    --------
    >>> before = hostlaunch.stats()
    >>> hostlaunch.host_launch(stream, work)
    >>> stream.sync()
    >>> hostlaunch.stats().ran - before.ran
    1
    """

    accepted: int
    pending: int
    running: int
    ran: int
    raised: int
    abandoned: int
    dropped: int
    cancelled: int
    awaiting_release: int
    oldest_pending_ms: int
    graph_callbacks: int
    graph_ran: int
    graph_raised: int


DriverInfo.__module__ = Stats.__module__ = "hostlaunch"


def driver() -> DriverInfo:
    """Tell which driver is in use, loading it on the first call.

    ``HOSTLAUNCH_DRIVER`` chooses: ``auto`` (default), ``cuda``, ``embedded`` or a path.

    Returns
    -------
    DriverInfo
        Name, version and path.

    Raises
    ------
    RuntimeError
        No usable driver library; the message says why.
    CUDAError
        The driver is there but fails.

    Examples
    --------
    >>> hostlaunch.driver().name
    'embedded'
    """
    return DriverInfo(*_native._driver())


def stats() -> Stats:
    """Count launches by outcome, since the process began.

    Each launch that the driver accepted is pending, then running, then ends as exactly one of ran,
    raised (an exception left it), abandoned (its context failed first), dropped (the interpreter
    exited first) or cancelled (a future was). Launches of compiled code count as ran when the event
    behind them completes.

    Returns
    -------
    Stats
        The counts; `Stats` says what each is.

    Examples
    --------
    >>> hostlaunch.stats().pending
    0
    """
    return Stats(*_native._stats())
