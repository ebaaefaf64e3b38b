#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure futures: what they cost a stream and a caller, and how soon they tell.

HOSTLAUNCH_DRIVER chooses the driver. Each group is measured in rounds whose order is drawn anew,
beside what would be used without the library.
"""

import argparse
import asyncio
import concurrent.futures
import ctypes
import gc
import os
import pathlib
import statistics
import subprocess
import tempfile
import threading
import time
from itertools import repeat
from time import perf_counter_ns as now

import bare
import paired
import python_launch

import hostlaunch

PAIRS = 32
TASKS, STREAMS = 2000, 8
WAITING = 1000
FROM_C = "event create + record, from C"


def nothing():
    """Do nothing: the function of all figures."""


class Events:
    """events.c over the driver of a bare library."""

    def __init__(self, folder, driver):
        here = pathlib.Path(__file__).parent
        made = pathlib.Path(folder) / "events.so"
        sources = [here / "bare.c", here / "timeline.c", here / "events.c"]
        options = ["-std=gnu11", "-O2", "-shared", "-fPIC"]
        subprocess.run(
            [os.environ.get("CC", "cc"), *options, *sources, "-o", made, "-ldl"], check=True
        )
        self.calls = ctypes.CDLL(str(made))
        self.calls.bare_load.argtypes = [ctypes.c_char_p]
        for name in ("events_enqueue", "events_round_trip"):
            function = getattr(self.calls, name)
            function.restype, function.argtypes = ctypes.c_int64, [ctypes.c_void_p]
        self.calls.events_enqueue.argtypes = [ctypes.c_void_p, ctypes.c_int]
        bare.require(self.calls.bare_load(driver.encode()), "loading the driver")
        bare.require(self.calls.events_load(), "finding the events")

    def enqueue(self, handle, count):
        """Make and record so many; nanoseconds."""
        spent = self.calls.events_enqueue(handle, count)
        bare.require(0 if spent >= 0 else 1, "the events from C")
        return spent

    def round_trip(self, handle):
        """Record one on an idle stream and ask until it has completed; microseconds."""
        spent = self.calls.events_round_trip(handle)
        bare.require(0 if spent >= 0 else 1, "the event from C")
        return spent / 1000


class Bench:
    """What the groups share."""

    def __init__(self, settings, folder):
        driver = hostlaunch.driver().path
        self.settings = settings
        self.lib = bare.Library(bare.build(folder), driver)
        self.events = Events(folder, driver)
        self.stream = hostlaunch.Stream()
        self.handle = self.stream.handle
        self.report = paired.Report("futures", python_launch.conditions(settings))

    def rounds(self, group, unit, subjects, base, rounds=None):
        """Measure {name: function} in rounds and compare each with the base."""
        answers = paired.in_rounds(
            subjects, lambda name: subjects[name](), rounds or self.settings.rounds
        )
        for name, values in answers.items():
            with_base = (base, answers[base]) if base and name != base else ("", ())
            self.report.add(group, unit, name, values, *with_base)

    def behind_gate(self, enqueue):
        """Nanoseconds a call of `enqueue(calls)` with the stream blocked; its futures end."""
        calls = self.settings.calls
        bare.require(self.lib.calls.bare_block(self.handle), "the gate")
        try:
            kept, spent = enqueue(calls)
        finally:
            self.lib.calls.bare_open_gate()
            self.lib.sync(self.handle)
        for future in kept:
            future.result(60)
        self.events.calls.events_forget()
        return spent / calls


def timed(call, *arguments):
    """Make a function that calls so often; what the calls returned, and the nanoseconds."""

    def run(calls):
        kept = [None] * calls
        begin = now()
        for i in range(calls):
            kept[i] = call(*arguments)
        return kept, now() - begin

    return run


def measure_enqueue(bench):
    """What a call costs, beside the event alone and an executor."""
    executor = concurrent.futures.ThreadPoolExecutor(4)
    stream = bench.stream
    subjects = {
        FROM_C: lambda: bench.behind_gate(lambda n: ((), bench.events.enqueue(bench.handle, n))),
        "submit": lambda: bench.behind_gate(timed(hostlaunch.submit, stream, nothing)),
        "work_done": lambda: bench.behind_gate(timed(hostlaunch.work_done, stream)),
        "ThreadPoolExecutor.submit": lambda: bench.behind_gate(timed(executor.submit, nothing)),
    }
    bench.rounds("enqueue", "ns a call", subjects, FROM_C)
    executor.shutdown()


def measure_timeline(bench):
    """Kernel and what follows it, on the GPU's clock."""
    kernel = bench.lib.calls.bare_kernel
    kept = []

    def pairs(follow):
        def enqueue(count):
            for _ in repeat(None, count):
                kernel(bench.handle)
                follow()

        def measured():
            value = bench.lib.on_timeline(bench.handle, PAIRS, enqueue)
            for future in kept:
                future.result(60)
            kept.clear()
            bench.events.calls.events_forget()
            return value

        return lambda: statistics.median(measured() for _ in range(8))

    def event():
        bench.events.calls.events_forget()
        bench.events.enqueue(bench.handle, 1)

    subjects = {
        "kernel alone": pairs(lambda: None),
        "kernel + event, from C": pairs(event),
        "kernel + submit": pairs(lambda: kept.append(hostlaunch.submit(bench.stream, nothing))),
        "kernel + work_done": pairs(lambda: kept.append(hostlaunch.work_done(bench.stream))),
        "kernel + host_launch": pairs(lambda: hostlaunch.host_launch(bench.stream, nothing)),
    }
    bench.rounds("GPU timeline", "us a pair", subjects, "kernel + event, from C")


def measure_start(bench):
    """From the call on an idle stream to the start of the function, spinning and after naps."""
    stamps = []

    def start(pause):
        def measured():
            if pause:
                time.sleep(pause)
            begin = now()
            hostlaunch.submit(bench.stream, lambda: stamps.append(now())).result(60)
            return (stamps.pop() - begin) / 1000

        return lambda: statistics.median(measured() for _ in range(20))

    subjects = {
        "event asked by C without a pause": lambda: statistics.median(
            bench.events.round_trip(bench.handle) for _ in range(20)
        ),
        "submit, pool spinning": start(0),
        "submit, pool asleep": start(0.002),
    }
    bench.rounds("call to start, idle stream", "us", subjects, "event asked by C without a pause")


def measure_asyncio(bench):
    """Tasks that wait for streams, resumed: ours, and host functions that call the loop."""
    streams = [hostlaunch.Stream() for _ in range(STREAMS)]

    async def ours(index):
        await hostlaunch.work_done(streams[index % STREAMS])

    async def by_host_function(index):
        loop = asyncio.get_running_loop()
        woken = loop.create_future()
        call = loop.call_soon_threadsafe
        hostlaunch.host_launch(streams[index % STREAMS], lambda: call(woken.set_result, None))
        await woken

    def together(one, count):
        async def main():
            gate = threading.Event()
            for stream in streams:
                hostlaunch.host_launch(stream, gate.wait)
            tasks = [asyncio.create_task(one(i)) for i in range(count)]
            await asyncio.sleep(0)
            begin = now()
            gate.set()
            await asyncio.gather(*tasks)
            return (now() - begin) / 1e6

        return lambda: asyncio.run(main())

    base = "host_launch of call_soon_threadsafe"
    rounds = min(bench.settings.rounds, 20)
    for count in (1, TASKS):
        subjects = {base: together(by_host_function, count), "work_done": together(ours, count)}
        group = f"{count} waiting task{'s' if count > 1 else ''} on {STREAMS} streams, all resumed"
        bench.rounds(group, "ms", subjects, base, rounds)


def measure_waiting(bench):
    """CPU time while futures wait: the first second, and a later one."""
    gate = threading.Event()
    hostlaunch.host_launch(bench.stream, gate.wait)
    futures = [hostlaunch.work_done(bench.stream) for _ in range(WAITING)]
    group = f"CPU while {WAITING} futures wait"
    for when in ("the first second", "the second one", "the third one"):
        before = time.process_time()
        time.sleep(1)
        used = (time.process_time() - before) * 100
        bench.report.add(group, "% of a core", when, [used])
    gate.set()
    for future in futures:
        future.result(60)


def resident():
    """Tell the bytes of memory that this process has."""
    with open("/proc/self/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def measure_memory(bench):
    """Resident bytes of a pending future, its event included, and growth over a million."""
    count = 20_000

    def pending(enqueue):
        before = resident()
        value = 0

        def measured(calls):
            nonlocal value
            kept, spent = enqueue(calls)
            value = (resident() - before) / calls
            return kept, spent

        calls, bench.settings.calls = bench.settings.calls, count
        bench.behind_gate(measured)
        bench.settings.calls = calls
        return value

    group = f"memory per pending future, {count} pending"
    from_c = pending(lambda n: ((), bench.events.enqueue(bench.handle, n)))
    bench.report.add(group, "bytes resident", FROM_C, [from_c])
    ours = pending(timed(hostlaunch.submit, bench.stream, nothing))
    bench.report.add(group, "bytes resident", "submit", [ours])

    def many(futures):
        for _ in repeat(None, futures // 1000):
            for future in [hostlaunch.work_done(bench.stream) for _ in range(1000)]:
                future.result(60)

    many(20_000)
    gc.collect()
    before = resident()
    many(1_000_000 if not bench.settings.quick else 100_000)
    gc.collect()
    grown = (resident() - before) / 1024
    bench.report.add("growth over a million futures", "KiB", "work_done", [grown])


GROUPS = {
    "memory": measure_memory,  # first, before memory is used again
    "enqueue": measure_enqueue,
    "timeline": measure_timeline,
    "start": measure_start,
    "asyncio": measure_asyncio,
    "waiting": measure_waiting,
}


def main():
    """Parse the command line, measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60, help="30 at least for figures to keep")
    parser.add_argument("--calls", type=int, default=1000, help="calls in a round")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and futures")
    parser.add_argument("--only", choices=GROUPS, help="measure this group alone")
    parser.add_argument("--json", help="also write all samples with their conditions to this file")
    parser.add_argument("--commit", default="unknown", help="recorded among the conditions")
    settings = parser.parse_args()
    if settings.quick:
        settings.rounds = min(settings.rounds, 10)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(settings, folder)
        for name, measure in GROUPS.items():
            if settings.only in (None, name):
                measure(bench)
    bench.report.print()
    if settings.json:
        bench.report.write(settings.json)


if __name__ == "__main__":
    main()
