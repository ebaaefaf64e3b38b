#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure what launches from Python cost: ours, other libraries', and the driver called from C.

HOSTLAUNCH_DRIVER chooses the driver. Each way has a process of its own (worker.py) for as long as
the program runs; the processes take turns, and measure the driver from C in every turn too. bare.c
is compiled with cc when the program starts.
"""

import argparse
import contextlib
import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import selectors
import statistics
import subprocess
import sys
import tempfile

import bare
import paired
import rows
import ways

import hostlaunch

PENDING = (100, 1000, 10000, 30000)
THREADS = (1, 2, 4, 8)
QUANTILES = 200


class WorkerError(Exception):
    """A worker ended, or gave no answer; the text is its status."""


class Worker:
    """A process that measures one way."""

    def __init__(self, name, folder, driver):
        self.name = name
        command = [sys.executable, pathlib.Path(__file__).with_name("worker.py"), name]
        command += ["--folder", folder, "--driver", driver]
        self.said = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed with the worker)
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=self.said, text=True
        )

    def ask(self, measure, limit=60, **arguments):
        """Let it measure; its answer."""
        self.request(measure, **arguments)
        return self.answer(limit)

    def request(self, measure, **arguments):
        """Ask, without waiting for the answer."""
        with contextlib.suppress(BrokenPipeError):  # it has said why, or will be seen to have ended
            self.process.stdin.write(json.dumps({"measure": measure, **arguments}) + "\n")
            self.process.stdin.flush()

    def answer(self, limit=60):
        """Wait for the answer."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(limit):
                self.process.kill()
                raise WorkerError(f"failed: no answer within {limit} seconds")
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait(10)
            self.said.seek(0)
            said = self.said.read().strip().splitlines() or ["no message"]
            raise WorkerError(f"failed: exit code {code}: {said[-1]}")
        content = json.loads(line)
        if "status" in content:
            raise WorkerError(content["status"])
        return content

    def close(self):
        """End the process."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        self.process.kill()
        self.process.wait()
        self.said.close()


class Bench:
    """The workers of a run and what they have measured."""

    def __init__(self, settings, folder):
        self.settings = settings
        self.folder = folder
        info = hostlaunch.driver()
        self.driver, self.real = info.path, info.name == "cuda"
        self.report = paired.Report("python_launch", conditions(settings))
        self.workers, self.missing = {}, {}

    def start(self, names):
        """Start workers, all at once, and keep those that work."""
        started = []
        for name in names:
            if ways.needs_other_library(name) and not self.real:
                self.missing[name] = ways.NEEDS_GPU
            else:
                started.append(Worker(name, self.folder, self.driver))
                started[-1].request("probe")
        for worker in started:
            try:
                told = worker.answer(120)
                worker.has = told["has"]
                self.report.conditions["device"] = told["device"]
                self.workers[worker.name] = worker
            except WorkerError as error:
                self.drop(worker, error)

    def drop(self, worker, error):
        """Give a worker up; its lines tell why."""
        self.missing[worker.name] = str(error)
        self.workers.pop(worker.name, None)
        worker.close()

    def rounds(self, measure, names, rounds=None, warm_up=3, **arguments):
        """Let workers measure in turns: the answers of each, by name."""
        subjects = [name for name in names if name in self.workers]

        def ask(name):
            worker = self.workers.get(name)
            if worker is None:
                return None
            try:
                return worker.ask(measure, **arguments)
            except WorkerError as error:
                self.drop(worker, error)
                return None

        rounds = rounds or self.settings.rounds
        answers = paired.in_rounds(subjects, ask, rounds, warm_up)
        return {name: given for name, given in answers.items() if name in self.workers}

    def add(self, group, unit, answers, value=lambda values: values[0], how="difference"):
        """Add a group: each way, compared with the bare driver in its own process."""
        alone = answers.get(ways.ALONE) or next(iter(answers.values()), None)
        if alone is None:
            return
        self.report.add(group, unit, ways.BARE, [value(a["bare"]) for a in alone])
        for name, given in answers.items():
            of_way, of_bare = ([value(a[which]) for a in given] for which in ("way", "bare"))
            self.report.add(group, unit, name, of_way, ways.BARE, of_bare, how)

    def add_missing(self, group, unit, names):
        """Say of each peer that could not be measured why not."""
        for name in names:
            if name in self.missing:
                self.report.add_missing(group, unit, name, self.missing[name])


def measure_launches(bench):
    """Enqueue and drain of each way, behind a gate in C."""
    names = list(ways.MAKERS)
    answers = bench.rounds("launches", names, calls=bench.settings.calls)
    for group, unit, column in (("enqueue", "ns a call", 0), ("drain", "ns a callback", 1)):
        shown = {
            name: given
            for name, given in answers.items()
            if column == 0 or name not in ways.NO_LAUNCH
        }
        bench.add(group, unit, shown, lambda values, column=column: values[column])
        bench.add_missing(group, unit, names)


def with_launch(bench):
    """Ways that launch one function and wait."""
    return [name for name, worker in bench.workers.items() if worker.has["trips"]]


def measure_round_trips(bench):
    """Launch one function and wait for it."""
    names = [name for name in with_launch(bench) if name not in ways.NO_LAUNCH]
    answers = bench.rounds("round_trips", names)
    bench.add("round trip, median of a round", "us", answers, statistics.median)
    group = "round trip, 99th percentile of a round"
    bench.add(group, "us", answers, lambda trips: statistics.quantiles(trips, n=100)[-1])
    group = "round trip, all"
    own = answers.get(ways.OWN, ())
    pooled = {name: (given, "way") for name, given in answers.items()}
    for name, (given, which) in {ways.BARE: (own, "bare"), **pooled}.items():
        trips = [trip for a in given for trip in a[which]]
        if trips:
            figure = bench.report.add(group, "us", name, [statistics.median(trips)])
            figure.quantiles = statistics.quantiles(trips, n=QUANTILES)
    bench.add_missing("round trip, median of a round", "us", ways.PEERS)


def measure_timeline(bench):
    """Kernel and function in turns on the GPU's clock."""
    names = [name for name in with_launch(bench) if name not in ways.NO_LAUNCH]
    answers = bench.rounds("timeline", names)
    bench.add("GPU timeline, kernel + host function", "us a pair", answers)
    bench.add_missing("GPU timeline, kernel + host function", "us a pair", ways.PEERS)


def measure_busy(bench):
    """Wait per callback while the main thread runs Python all the time; what that costs it."""
    able = with_launch(bench)
    names = [name for name in (ways.OWN, *ways.PEERS) if name in able]
    answers = bench.rounds("busy", names, min(bench.settings.rounds, 30))
    bench.add("main thread busy in Python", "us a callback", answers)
    answers = bench.rounds("paced", [ways.OWN], min(bench.settings.rounds, 20), 1)
    group = "loop of the main thread, 400 callbacks a second"
    bench.add(group, "loops a ms", answers, how="ratio")


def measure_threads(bench):
    """Functions per second from several Python threads, each with its own stream."""
    rounds = min(bench.settings.rounds, 30)
    for count in THREADS:
        answers = bench.rounds("threads", [ways.OWN], rounds, count=count, functions=4000)
        of = f"throughput of {count} thread{'s' if count > 1 else ''}"
        bench.add(of, "thousand functions per second", answers, how="ratio")


def measure_graphs(bench):
    """Replays of graphs of kernel and function, and what adding a function costs."""
    names = [name for name, worker in bench.workers.items() if worker.has["graph"]]
    group, unit = "replay, 100 kernel + host function steps", "us a step"
    bench.add(group, unit, bench.rounds("replay", names, of="way"))
    for given in bench.rounds("replay", [ways.ALONE], of="kernels").values():
        bench.report.add(group, unit, "kernels alone", [a["way"][0] for a in given])
    bench.add_missing(group, unit, [ways.CORE_GRAPH])
    group, unit = "building a graph", "ns a host function"
    bench.add(group, unit, bench.rounds("building", names))
    bench.add_missing(group, unit, [ways.CORE_GRAPH])


def measure_pending(bench):
    """Enqueue and drain with more and more functions pending; memory of each, in new processes."""
    names = [ways.ALONE, ways.OWN, *ways.PEERS]
    for count in PENDING:
        if bench.settings.quick and count > 10000:
            continue
        rounds = min(bench.settings.rounds, max(3, 30000 // count))
        answers = bench.rounds("launches", names, rounds, 1, calls=count)
        for what, unit, column in (("enqueue", "ns a call", 0), ("drain", "ns a callback", 1)):
            group = f"{what} with {count} pending"
            bench.add(group, unit, answers, lambda values, column=column: values[column])


def measure_memory(bench):
    """Resident bytes per pending launch of Python callables, each in a new process."""
    count = 20000
    names = [name for name in (ways.ALONE, ways.OWN, *ways.PEERS) if name in bench.workers]
    values = {name: [] for name in names}
    for _ in range(3):
        started = [Worker(name, bench.folder, bench.driver) for name in names]
        for worker in started:
            measure = "pending_bare" if worker.name == ways.ALONE else "pending"
            worker.request(measure, calls=count)
        for worker in started:
            with contextlib.suppress(WorkerError):
                values[worker.name] += worker.answer()["way"]
            worker.close()
    group = f"memory per pending launch, {count} pending"
    for name, measured in values.items():
        shown = ways.BARE if name == ways.ALONE else name
        if measured:
            bench.report.add(group, "bytes resident", shown, measured)


GROUPS = {
    "launches": measure_launches,
    "round-trips": measure_round_trips,
    "timeline": measure_timeline,
    "busy": measure_busy,
    "threads": measure_threads,
    "graphs": measure_graphs,
    "pending": measure_pending,
    "memory": measure_memory,
}


def processor():
    """Name the processor."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(": ")[2].strip()
    return "unknown"


def versions():
    """Tell the versions of the peers that are installed."""
    found = {}
    for name in ways.DISTRIBUTIONS:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def conditions(settings):
    """Tell under which conditions this runs."""
    driver = hostlaunch.driver()
    return {
        "driver": driver.name,
        "driver version": str(driver.version),
        "processor": processor(),
        "cores": str(os.cpu_count()),
        "Python": f"{platform.python_version()} ({platform.python_compiler()})",
        "switch interval": f"{sys.getswitchinterval()} s",
        **versions(),
        "commit": settings.commit,
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "rounds": str(settings.rounds),
        "calls a round": str(settings.calls),
    }


def main():
    """Parse the command line, measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60, help="30 at least for figures to keep")
    parser.add_argument("--calls", type=int, default=1000, help="launches in a round, hundreds")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, less pending")
    parser.add_argument("--only", choices=GROUPS, help="measure this group alone")
    parser.add_argument("--ways", help="only ways whose names contain this")
    parser.add_argument("--rows", action="store_true", help="only what targets need, no peers")
    parser.add_argument("--json", help="also write all samples with their conditions to this file")
    parser.add_argument("--commit", default="unknown", help="recorded among the conditions")
    settings = parser.parse_args()
    if settings.quick:
        settings.rounds = min(settings.rounds, 30)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(settings, bare.build(folder))
        chosen = [name for name in ways.MAKERS if not settings.ways or settings.ways in name]
        if settings.rows:
            needed = {name for row in rows.ROWS for name in (row.ours, row.base)}
            chosen = [name for name in chosen if name in needed | {ways.ALONE}]
        try:
            bench.start(chosen)
            for name, measure in GROUPS.items():
                unneeded = settings.rows and name in ("pending", "memory")
                if settings.only in (None, name) and not unneeded:
                    measure(bench)
        finally:
            for worker in bench.workers.values():
                worker.close()
    bench.report.print()
    if settings.json:
        bench.report.write(settings.json)


if __name__ == "__main__":
    main()
