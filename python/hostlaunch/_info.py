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
    """

    name: str
    version: int
    path: str


class Stats(NamedTuple):
    """Counts of launches since the process began; see `stats`."""

    accepted: int
    pending: int
    running: int
    ran: int
    raised: int
    abandoned: int
    dropped: int
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
    raised (an exception left it), abandoned (its context failed first) or dropped (the interpreter
    exited first). Whenever nothing moves, ``accepted`` is the sum of these six. Launches of
    compiled code count as ran when the event behind them completes.

    Returns
    -------
    Stats
        The counts. ``awaiting_release`` is how many ended launches still hold their function until
        the main thread releases it. ``oldest_pending_ms`` is how long the oldest pending launch has
        been pending, in steps of up to 50 ms. Host functions of graphs run any number of times and
        count on their own: ``graph_callbacks`` is how many graphs hold now, ``graph_ran`` and
        ``graph_raised`` how often they returned or raised.

    Examples
    --------
    >>> hostlaunch.stats().pending
    0
    """
    return Stats(*_native._stats())
