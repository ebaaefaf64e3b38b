# SPDX-License-Identifier: Apache-2.0
"""The rows that the library is held against: what a run measured, the best peer, the target.

Read from the JSON of hostlaunch_bench and python_launch. Runs on the embedded driver get the same
rows without a verdict.
"""

import dataclasses
import json
import pathlib
import statistics

import paired
import ways

CPP, PYTHON = "hostlaunch_bench", "python_launch"
CPP_BARE = "is_capturing + launch, from C"
BY_HAND, CCCL = "new + trampoline + delete, by hand", "CCCL cuda::host_launch of a lambda"
BY_HAND_CHECKED = "the same, with the capture check"
TIMELINE = "GPU timeline, kernel + host function"


@dataclasses.dataclass(frozen=True)
class Row:
    """One promise: a difference to a baseline, a ratio to it, or a value by itself."""

    title: str
    program: str
    group: str  # the beginning of the group's name
    ours: str
    base: str | None = None
    target: float | None = None
    how: str = "difference"  # or "ratio", "value"
    peers: tuple[str, ...] = ()
    times: float = 1  # so many times faster than the best peer
    at_least: bool = False
    since: tuple[int, ...] = ()  # the target counts from this Python on


def _python(title, group, target, base=ways.BARE, ours=ways.OWN, **more):
    return Row(title, PYTHON, group, ours, base, target, **more)


def _cpp(title, group, target, base=CPP_BARE, ours="host_launch of a lambda", **more):
    return Row(title, CPP, group, ours, base, target, **more)


ROWS = (
    _python("Python callback, drain", "drain", 600, peers=ways.PEERS, times=8),
    _python("Python callback in a graph, a step", "replay,", 1, peers=(ways.CORE_GRAPH,)),
    _python("Python enqueue, own stream", "enqueue", 250, peers=ways.LAUNCHING_PEERS),
    _python(
        "Python enqueue, foreign stream",
        "enqueue",
        450,
        ours="hostlaunch, foreign stream",
        peers=ways.LAUNCHING_PEERS,
    ),
    _cpp(
        "C++ enqueue",
        "enqueue",
        50,
        ours="host_launch of a lambda, own stream",
        peers=(BY_HAND, CCCL),
    ),
    _python(
        "Python round trip, launch + sync",
        "round trip, median",
        2,
        "C function through ctypes",
        peers=ways.PEERS,
    ),
    _python("kernel + Python callback, GPU timeline", TIMELINE, 1, peers=ways.PEERS),
    _python(
        "kernel + C function as is, 64 bytes, from Python, GPU timeline",
        TIMELINE,
        0.5,
        ours="hostlaunch, C function as is, 64 bytes copied",
    ),
    _cpp(
        "the same from C++, GPU timeline",
        TIMELINE,
        0.5,
        "kernel + C function, from C",
        "host_launch as is, 64 bytes copied",
    ),
    _cpp(
        "memory of ours per pending launch",
        "memory per pending launch",
        128,
        None,
        "what our operator new holds",
        how="value",
    ),
    _cpp("growth over a million launches", "growth over", 1024, "from C (the driver's own)"),
    *(
        _cpp(
            f"C++ throughput, {n} thread{'s' if n > 1 else ''}",
            f"throughput of {n} ",
            0.9,
            f"{n} thread{'s' if n > 1 else ''}, from C",
            f"{n} thread{'s' if n > 1 else ''}, host_launch of a lambda",
            how="ratio",
            at_least=True,
        )
        for n in (1, 2, 4, 8)
    ),
    *(
        _python(
            f"Python throughput, {n} thread{'s' if n > 1 else ''}",
            f"throughput of {n} ",
            None,
            how="ratio",
        )
        for n in (1, 2, 4, 8)
    ),
    _python(
        "main thread busy, wait per callback",
        "main thread busy",
        50,
        peers=ways.PEERS,
        since=(3, 13),
    ),
    _python(
        "main thread's speed under 400 callbacks a second",
        "loop of the main thread",
        0.95,
        how="ratio",
        at_least=True,
        since=(3, 13),
    ),
)


@dataclasses.dataclass
class Result:
    """What a run says about a row."""

    row: Row
    unit: str
    status: str  # "measured", or why not
    ours: float = 0
    base: float | None = None
    compared: float | None = None  # with the baseline: the difference or ratio
    low: float = 0
    high: float = 0
    peer: str = ""  # the best one
    peer_value: float | None = None
    peer_compared: float | None = None  # with the same baseline
    beside: str = ""  # the peer that decides the standing
    standing: str = ""  # among the peers: "first", "level", "behind"
    reached: bool | None = None  # the target, whatever the peers; None where it does not count
    faster: bool | None = None  # so many times as the best peer; None where that is not asked

    @property
    def verdict(self):
        """Tell "met", "level" or "NOT MET"; nothing where no target counts."""
        if self.reached is None:
            return ""
        if not self.reached or self.faster is False or self.standing == "behind":
            return "NOT MET"
        return "level" if self.standing == "level" else "met"


def load(paths):
    """Read the runs that are there: {driver: {program: run}}."""
    runs = {}
    for path in map(pathlib.Path, paths):
        if path.is_file():
            run = json.loads(path.read_text(encoding="utf-8"))
            runs.setdefault(run["conditions"]["driver"], {})[run["program"]] = run
    return runs


def find(run, group, name):
    """Find a figure by the beginning of its group and its name; None if there is none."""
    for figure in run["figures"]:
        if figure["group"].startswith(group) and figure["name"] == name:
            return figure
    return None


def figures(programs, program, group):
    """Find the figures of all groups that begin so."""
    if program not in programs:
        return []
    # A comma ends the name where another group begins with the same word.
    exact = group.rstrip(",") if group.endswith(",") else None
    return [
        figure
        for figure in programs[program]["figures"]
        if (figure["group"] == exact if exact else figure["group"].startswith(group))
    ]


def measured(figure):
    """Tell whether there are values."""
    return figure is not None and bool(figure["samples"])


def compare(ours, base, how):
    """Compare by rounds: the median and its interval."""
    if ours.get("baseline") == base["name"] and how in ours:
        return ours[how], *ours[f"{how}_interval"]
    pairs = list(zip(ours["samples"], base["samples"], strict=True))
    values = [a / b if how == "ratio" else a - b for a, b in pairs]
    return statistics.median(values), *paired.interval(values)


def place(figure, by):
    """Tell where a figure stands: value, and the ends of its interval."""
    value = figure["median" if by == "interval" else by]
    return value, *figure["interval" if by == "interval" else f"{by}_interval"]


def stand(told, ours, peers):
    """Place ours among the peers, by the differences to the bare driver in the same turns.

    Where the intervals overlap, neither is before the other. Figures without a difference are
    compared by their own values.
    """
    by = "difference" if all("difference" in f for f in (ours, *peers)) else "interval"
    _, low, high = place(ours, by)
    places = sorted((*place(f, by), f["name"]) for f in peers)
    best = next(f for f in peers if f["name"] == places[0][-1])
    told.peer, told.peer_value = best["name"], best["median"]
    told.peer_compared = best.get("difference")
    before = [p for p in places if p[2] < low]
    level = [p for p in places if p[1] <= high]
    told.standing = "behind" if before else "level" if level else "first"
    told.beside = (before or level or places)[0][-1]


def result(run, row):
    """Judge one row; None if the run has nothing about it."""
    ours = find(run, row.group, row.ours)
    if ours is None:
        return None
    if not measured(ours):
        return Result(row, ours["unit"], ours["status"])
    told = Result(row, ours["unit"], "measured", ours["median"])
    judged = ours["median"]
    base = find(run, row.group, row.base) if row.base else None
    if measured(base):
        own_turns = ours.get("baseline") == base["name"]  # the baseline in ours' process
        told.base = ours.get("baseline_median") if own_turns else None
        told.base = base["median"] if told.base is None else told.base
        told.compared, told.low, told.high = compare(ours, base, row.how)
        judged = told.compared
    found = [find(run, row.group, name) for name in row.peers]
    peers = [figure for figure in found if measured(figure)]
    if peers:
        stand(told, ours, peers)
    if counts(row, run["conditions"]):
        told.reached = judged >= row.target if row.at_least else judged <= row.target
        if peers and row.times > 1:
            told.faster = told.ours * row.times <= min(f["median"] for f in peers)
    return told


def counts(row, conditions):
    """Tell whether the target counts: on a GPU, with a Python that it is for."""
    if row.target is None or conditions["driver"] != "cuda":
        return False
    version = conditions.get("Python", "").split(" ")[0].split(".")[:2]
    return not row.since or tuple(map(int, version)) >= row.since


def results(programs):
    """Judge all rows of the runs of one driver."""
    found = [result(programs[row.program], row) for row in ROWS if row.program in programs]
    return [r for r in found if r is not None]


def not_measured(programs):
    """Tell which figures have no values, and why: pairs of name and status."""
    every = (figure for run in programs.values() for figure in run["figures"])
    return {(f["name"], f["status"]) for f in every if not f["samples"]}


def number(value, signed=False):
    """Form a number with three significant digits."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:{'+' if signed else ''}.{digits}f}"


def compared_text(told):
    """Tell the comparison with its interval."""
    if told.compared is None:
        return ""
    if told.row.how == "ratio":
        return f"{told.compared:.2f} [{told.low:.2f}, {told.high:.2f}]"
    middle, low, high = (number(v, True) for v in (told.compared, told.low, told.high))
    return f"{middle} [{low}, {high}]"


def peer_text(told):
    """Tell the best peer with its difference to the baseline."""
    if not told.peer:
        return ""
    text = f"{told.peer}: {number(told.peer_value)}"
    if told.peer_compared is None:
        return text
    return f"{text} ({number(told.peer_compared, True)})"


def target_text(told):
    """Tell the target, how far it is reached, and the standing among the peers."""
    row = told.row
    if row.target is None:
        return ""
    sign = "+" if row.how == "difference" else ""
    parts = [f"{'at least' if row.at_least else 'at most'} {sign}{row.target:g}"]
    if told.reached is not None:
        parts[0] += ": met" if told.reached else ": not met"
    elif row.since:
        parts[0] += f" from Python {'.'.join(map(str, row.since))} on"
    if told.faster is not None:
        parts.append(
            f"{row.times:g} times faster than peers: {'met' if told.faster else 'not met'}"
        )
    elif told.standing and told.reached is not None:
        ends = {"first": "met", "level": f"level with {told.beside}"}
        parts.append(f"first: {ends.get(told.standing, f'not met, behind {told.beside}')}")
    return "; ".join(parts)
