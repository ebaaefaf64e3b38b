#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure what host_launch costs from Python, beside the driver called from C and other libraries.

HOSTLAUNCH_DRIVER chooses the driver. The baseline is timed inside C: bare.c, compiled
with cc when the program starts.
"""

import argparse
import ctypes
import datetime
import gc
import operator
import os
import platform
import statistics
import sys
import threading
import time

import bare
import graphs
import paired
import peers
from paired import Subject

import hostlaunch

CHECKED = "is_capturing + launch, from C"
OWN = "host_launch of a callable, own stream"


class ForeignStream:
    """The least that a stream of another library is."""

    def __init__(self, handle):
        self.handle = handle

    def __cuda_stream__(self):
        """Tell the handle."""
        return 0, self.handle


def own_ways(stream):
    """All ways that need no other library, each on the same stream."""
    handle = stream.handle
    nothing = peers.nothing
    compiled = bare.nothing_function()
    data = ctypes.create_string_buffer(64)
    address = ctypes.addressof(data)
    launch = hostlaunch.host_launch

    def way(name, enqueue, keeps=None):
        return peers.Way(name, handle, enqueue, keeps)

    return [
        way(CHECKED, lambda calls: bare.enqueue_bare(handle, calls, 1)),
        way("launch alone, from C", lambda calls: bare.enqueue_bare(handle, calls, 0)),
        way("Python calling a built-in, no launch", peers.calls_of_two(operator.is_, 0, 1)),
        way(OWN, peers.calls_of_two(launch, stream, nothing)),
        way(
            "host_launch of a callable, foreign stream",
            peers.calls_of_two(launch, ForeignStream(handle), nothing),
        ),
        way(
            "host_launch as is, pointer",
            peers.calls_with_user_data(stream, compiled, address),
            data,
        ),
        way(
            "host_launch as is, 64 bytes copied",
            peers.calls_with_user_data(stream, compiled, bytes(64)),
        ),
    ]


def measure_launches(settings, report):
    """Enqueue and drain of each way, behind a gate in C."""
    stream = hostlaunch.Stream()
    ways = own_ways(stream)
    missing = {}
    for name, setup in peers.SETUPS.items():
        status = peers.try_out(name)
        if status == "measured":
            ways.append(setup())
        else:
            missing[name] = status

    def round_of(way):
        return lambda: bare.blocked_round(
            way.handle, settings.calls, lambda: way.enqueue(settings.calls)
        )

    subjects = [Subject(way.name, round_of(way)) for way in ways]
    paired.run_rounds(subjects, settings.rounds)
    drained = [s for s in subjects if "no launch" not in s.name]
    for group, unit, column, of in (
        ("enqueue", "ns a call", 0, subjects),
        ("drain", "ns a callback", 1, drained),
    ):
        report.add_group(group, unit, column, of)
        for name, status in missing.items():
            report.add_missing(group, unit, name, status)


def trips_of(trips, launch, sync):
    """Time launch and sync, one after the other; microseconds, median and 99th percentile."""

    def measure():
        spent = []
        for _ in range(trips):
            begin = time.perf_counter_ns()
            launch()
            sync()
            spent.append((time.perf_counter_ns() - begin) / 1000)
        return statistics.median(spent), statistics.quantiles(spent, n=100)[-1]

    return measure


def measure_round_trips(settings, report):
    """Launch one function and wait for it."""
    trips = 100
    stream = hostlaunch.Stream()
    handle = stream.handle
    lib = bare.library()
    spent = (ctypes.c_int64 * trips)()
    address = ctypes.cast(lib.bare_nothing, ctypes.c_void_p)

    def from_c():
        bare.require(lib.bare_round_trips(handle, trips, spent), "the bare round trips")
        values = [v / 1000 for v in spent]
        return statistics.median(values), statistics.quantiles(values, n=100)[-1]

    def through_ctypes():
        lib.bare_launch(handle, address, None)

    def ours():
        hostlaunch.host_launch(stream, peers.nothing)

    subjects = [
        Subject("launch + sync, from C", from_c),
        Subject(
            "C function through ctypes",
            trips_of(trips, through_ctypes, lambda: lib.bare_synchronize(handle)),
        ),
        Subject("host_launch of a callable + sync", trips_of(trips, ours, stream.sync)),
    ]
    subjects += cupy_round_trips(trips)
    paired.run_rounds(subjects, settings.rounds)
    report.add_group("round trip, median of a round", "us", 0, subjects)
    report.add_group("round trip, 99th percentile of a round", "us", 1, subjects)


def cupy_round_trips(trips):
    """CuPy's launch and sync, where it works."""
    name = "CuPy launch_host_func"
    if peers.try_out(name) != "measured":
        return []
    stream = peers.SETUPS[name]().keeps

    def launch():
        stream.launch_host_func(peers.nothing_with, None)

    return [Subject(f"{name} + synchronize", trips_of(trips, launch, stream.synchronize))]


def measure_busy_main_thread(settings, report):
    """Wait per callback, one at a time, while the main thread runs Python all the time."""
    stream = hostlaunch.Stream()
    handle = stream.handle
    lib = bare.library()
    done = bare.second_stamp()

    def busy_round(enqueue):
        def measure():
            bare.require(lib.bare_block(handle), "the gate")
            lib.bare_stamp(handle, 0)
            enqueue(1)
            lib.bare_stamp(handle, 1)
            lib.bare_open_gate()
            while done.value == 0:
                pass
            bare.require(lib.bare_synchronize(handle), "cuStreamSynchronize")
            return (lib.bare_stamped() / 1000,)

        return measure

    subjects = [
        Subject("C function", busy_round(lambda n: bare.enqueue_bare(handle, n, 1))),
        Subject(
            "Python callable",
            busy_round(peers.calls_of_two(hostlaunch.host_launch, stream, peers.nothing)),
        ),
    ]
    paired.run_rounds(subjects, settings.rounds, warm_up=2)
    report.add_group("main thread busy in Python", "us a callback", 0, subjects)


def measure_threads(settings, report):
    """Functions per second from several Python threads, each with its own stream."""
    for count in (1, 2, 4, 8):
        streams = [hostlaunch.Stream() for _ in range(count)]
        share = 4000 // count

        def bare_work(stream, share=share):
            bare.enqueue_bare(stream.handle, share, 1)
            bare.require(bare.library().bare_synchronize(stream.handle), "cuStreamSynchronize")

        def our_work(stream, share=share):
            peers.calls_of_two(hostlaunch.host_launch, stream, peers.nothing)(share)
            stream.sync()

        def together(work, streams=streams, share=share):
            start = threading.Barrier(len(streams) + 1)

            def run(stream):
                start.wait()
                work(stream)

            threads = [threading.Thread(target=run, args=(s,)) for s in streams]
            for thread in threads:
                thread.start()
            start.wait()
            begin = time.perf_counter_ns()
            for thread in threads:
                thread.join()
            return (share * len(streams) / (time.perf_counter_ns() - begin) * 1e6,)

        of = f"{count} thread{'s' if count > 1 else ''}"
        subjects = [
            Subject(f"{of}, from C", lambda run=together, work=bare_work: run(work)),
            Subject(f"{of}, host_launch", lambda run=together, work=our_work: run(work)),
        ]
        paired.run_rounds(subjects, min(settings.rounds, 30), warm_up=2)
        unit = "thousand functions per second"
        report.add_group(f"throughput of {of}", unit, 0, subjects, how="ratio")


def processor():
    """Name the processor."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(": ")[2].strip()
    return "unknown"


def conditions(settings):
    """Tell under which conditions this runs."""
    driver = hostlaunch.driver()
    return {
        "driver": driver.name,
        "driver version": str(driver.version),
        "device": bare.device_name(),
        "processor": processor(),
        "cores": str(os.cpu_count()),
        "Python": f"{platform.python_version()} ({platform.python_compiler()})",
        "switch interval": f"{sys.getswitchinterval()} s",
        **peers.versions(),
        "commit": settings.commit,
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "rounds": str(settings.rounds),
        "calls a round": str(settings.calls),
    }


GROUPS = {
    "launches": measure_launches,
    "round-trips": measure_round_trips,
    "busy": measure_busy_main_thread,
    "threads": measure_threads,
    "graphs": graphs.measure_graphs,
}


def main():
    """Parse the command line, measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60, help="30 at least for figures to keep")
    parser.add_argument("--calls", type=int, default=400, help="launches in a round")
    parser.add_argument("--only", choices=GROUPS, help="measure this group alone")
    parser.add_argument("--json", help="also write all samples with their conditions to this file")
    parser.add_argument("--commit", default="unknown", help="recorded among the conditions")
    parser.add_argument("--probe", choices=peers.SETUPS, help=argparse.SUPPRESS)
    settings = parser.parse_args()
    if settings.probe:
        peers.probe(settings.probe)
    report = paired.Report("python_launch", conditions(settings))
    gc.disable()  # a collection in the middle of a round tells nothing about launches
    for name, measure in GROUPS.items():
        if settings.only in (None, name):
            measure(settings, report)
            gc.collect()
    gc.enable()
    report.print()
    if settings.json:
        report.write(settings.json)


if __name__ == "__main__":
    main()
