#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hold the figures of a run against the targets: summary.py FILE.json...

The targets are those for a GPU: figures of the embedded driver are shown without a verdict.
"""

import json
import pathlib
import sys

# program, group, name, field, target in the figure's unit
TARGETS = (
    ("hostlaunch_bench", "enqueue", "host_launch of a lambda, own stream", "difference", 50),
    ("hostlaunch_bench", "enqueue", "host_launch of a lambda, foreign handle", "difference", None),
    ("hostlaunch_bench", "enqueue", "new + trampoline + delete, by hand", "difference", None),
    ("hostlaunch_bench", "enqueue", "cuStreamAddCallback + owned callable", "difference", None),
    ("hostlaunch_bench", "drain", "host_launch of a lambda, own stream", "difference", None),
    ("hostlaunch_bench", "our heap, steady state", "lambda", "median", 0),
    ("hostlaunch_bench", "memory per pending", "what our operator new holds", "median", 128),
    ("hostlaunch_bench", "growth over", "host_launch of a lambda", "difference", 1024),
    ("python_launch", "enqueue", "host_launch of a callable, own stream", "difference", 250),
    ("python_launch", "enqueue", "host_launch of a callable, foreign stream", "difference", 450),
    ("python_launch", "drain", "host_launch of a callable, own stream", "difference", 600),
    ("python_launch", "drain", "host_launch as is, 64 bytes copied", "difference", 500),
    ("python_launch", "round trip, median", "host_launch of a callable + sync", "difference", 2),
    ("python_launch", "replay,", "Graph of Python callables", "ratio", 1.15),
    ("python_launch", "replay,", "cuda.core graph of Python callables", "ratio", None),
    ("python_launch", "building a graph", "GraphBuilder.callback", "median", 2000),
    ("python_launch", "building a graph", "cuda.core GraphBuilder.callback", "median", None),
    ("python_launch", "main thread busy", "Python callable", "median", None),
)
# At least these ratios to the bare driver.
LEAST = tuple(
    ("hostlaunch_bench", f"throughput of {n} ", ", host_launch of a lambda", "ratio", 0.9)
    for n in (1, 2, 4, 8)
)


def load(paths):
    """Read the runs that are there, by program."""
    runs = {}
    for path in map(pathlib.Path, paths):
        if path.is_file():
            run = json.loads(path.read_text(encoding="utf-8"))
            runs[run["program"]] = run
    return runs


def find(runs, program, group, name):
    """Find a figure by the beginning of its group and the end of its name."""
    for figure in runs.get(program, {"figures": ()})["figures"]:
        if figure["group"].startswith(group) and figure["name"].endswith(name):
            return figure
    return None


def line(figure, field, target, at_least, judged):
    """Form one line, with the verdict if there is a target."""
    if field not in figure:
        return f"          {figure['group']}: {figure['name']}: {figure['status']}"
    value = figure[field]
    low, high = figure.get(f"{field}_interval", figure["interval"])
    verdict = " " * 8
    if target is not None and judged:
        met = value >= target if at_least else value <= target
        verdict = "met     " if met else "NOT MET "
    text = f"{value:+.4g} [{low:+.4g}, {high:+.4g}]" if field == "difference" else f"{value:.4g}"
    word = "at least" if at_least else "at most"
    goal = "" if target is None else f", {word} {target}"
    unit = "of bare" if field == "ratio" else figure["unit"]
    group = figure["group"].partition(",")[0]
    return f"  {verdict}{group}: {figure['name']}: {text} {unit}{goal}"


def main():
    """Print the summary; 1 if a program left no figures."""
    runs = load(sys.argv[1:])
    for run in runs.values():
        told = run["conditions"]
        print(
            f"{run['program']}: {told['device']}, driver {told['driver']} {told['driver version']}"
        )
    for entries, at_least in ((TARGETS, False), (LEAST, True)):
        for program, group, name, field, target in entries:
            figure = find(runs, program, group, name)
            if figure is not None:
                judged = runs[program]["conditions"]["driver"] == "cuda"
                print(line(figure, field, target, at_least, judged))
    return 0 if len(runs) == len(sys.argv) - 1 else 1


if __name__ == "__main__":
    sys.exit(main())
