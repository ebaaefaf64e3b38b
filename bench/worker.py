#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure one way in a process of its own, round by round as the parent asks: worker.py NAME.

Requests come as lines of JSON on stdin, answers go to stdout. Each measurement answers with values
of the way and of the C function from C, taken one after the other in an order drawn anew, so that
both have met the same process, driver thread and moment. Before each the same is done once without
counting, since other processes had the core in between: caches are cold, and its clock is low.
"""

import argparse
import gc
import json
import os
import statistics
import sys
import threading
import time
from itertools import repeat

import bare
import graphs
import ways
from paired import both

PAIRS = 32  # of kernel and function: some 56 fill the driver's queue
TIMES = 8  # that many times the pairs are measured in a turn
TRIPS = 100
WARM_UP = 400  # launches of each, at most
WARM_UP_TRIPS = 10
PACED = 80  # functions, one every 2.5 ms


def launches(lib, way, calls):
    """Enqueue and drain, nanoseconds per call."""
    calls = min(calls, way.most)

    def of_way(calls):
        return lib.blocked(way.handle, calls, way.enqueue)

    def of_bare(calls):
        return lib.blocked(way.handle, calls, lambda n: lib.enqueue(way.handle, n))

    both(lambda: of_way(min(calls, WARM_UP)), lambda: of_bare(min(calls, WARM_UP)))
    return both(lambda: of_way(calls), lambda: of_bare(calls))


def resident():
    """Tell the bytes of memory that this process has."""
    with open("/proc/self/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def pending(lib, way, calls):
    """Resident bytes per pending launch. Only the first time, before memory is used again."""
    before = after = 0

    def enqueue(count):
        nonlocal before, after
        before = resident()
        spent = way.enqueue(count)
        after = resident()
        return spent

    lib.blocked(way.handle, 100, way.enqueue)
    lib.blocked(way.handle, calls, enqueue)
    return {"way": [(after - before) / calls]}


def pending_bare(lib, way, calls):
    """The same for the C function: the driver's own."""
    way.enqueue = lambda count: lib.enqueue(way.handle, count)
    return pending(lib, way, calls)


def round_trips(lib, way):
    """Launch and wait, one after the other: microseconds of each trip."""

    def trips(count):
        launch, sync, clock = way.launch, way.sync, time.perf_counter_ns
        spent = []
        for _ in repeat(None, count):
            begin = clock()
            launch()
            sync()
            spent.append((clock() - begin) / 1000)
        return spent

    both(lambda: trips(WARM_UP_TRIPS), lambda: lib.round_trips(way.handle, WARM_UP_TRIPS))
    return both(lambda: trips(TRIPS), lambda: lib.round_trips(way.handle, TRIPS))


def timeline(lib, way):
    """Kernel and function in turns on the GPU's clock, microseconds a pair."""

    def pairs(count):
        for _ in repeat(None, count):
            lib.calls.bare_kernel(way.handle)
            way.launch()

    def pairs_from_c(count):
        bare.require(lib.calls.bare_pairs(way.handle, count), "the pairs from C")

    def measured():
        return both(
            lambda: lib.on_timeline(way.handle, PAIRS, pairs),
            lambda: lib.on_timeline(way.handle, PAIRS, pairs_from_c),
        )

    measured()
    every = [measured() for _ in repeat(None, TIMES)]
    return {of: [statistics.median(pair[of] for pair in every)] for of in ("way", "bare")}


def busy(lib, way):
    """One function while the main thread runs Python without a pause, microseconds."""
    return both(
        lambda: [lib.while_busy(way.handle, way.enqueue)],
        lambda: [lib.while_busy(way.handle, lambda n: lib.enqueue(way.handle, n))],
    )


def paced(lib, way):
    """Speed of a loop of the main thread while functions run 400 times a second, loops a ms."""
    return both(
        lambda: [lib.speed_while_called(way.handle, PACED, way.enqueue)],
        lambda: [lib.speed_while_called(way.handle, PACED, lambda n: lib.enqueue(way.handle, n))],
    )


def threads(lib, way, count, functions):
    """Thousand functions per second of several threads, each with its own stream; ours alone."""
    import hostlaunch

    share = functions // count
    streams = way.keeps_streams = getattr(way, "keeps_streams", {})
    if count not in streams:
        streams[count] = [hostlaunch.Stream() for _ in range(count)]

    def together(work):
        start = threading.Barrier(count + 1)

        def run(stream):
            start.wait()
            work(stream)

        started = [threading.Thread(target=run, args=(s,)) for s in streams[count]]
        for thread in started:
            thread.start()
        start.wait()
        begin = time.perf_counter_ns()
        for thread in started:
            thread.join()
        return [share * count / (time.perf_counter_ns() - begin) * 1e6]

    def ours(stream):
        ways.calls_of(hostlaunch.host_launch, stream, ways.nothing)(share)
        stream.sync()

    def from_c(stream):
        lib.enqueue(stream.handle, share)
        lib.sync(stream.handle)

    return both(lambda: together(ours), lambda: together(from_c))


def probe(lib, way):
    """Run one short round, to see that the way works."""
    lib.blocked(way.handle, 100, way.enqueue)
    if way.launch is not None:
        way.launch()
        lib.sync(way.handle)
    return {
        "has": {
            "launches": True,
            "trips": way.launch is not None and way.sync is not None,
            "graph": way.graph_stream is not None,
        },
        "device": lib.device_name(),
        "hostlaunch": "hostlaunch" in sys.modules,
    }


MEASURES = {
    "probe": probe,
    "launches": launches,
    "pending": pending,
    "pending_bare": pending_bare,
    "round_trips": round_trips,
    "timeline": timeline,
    "busy": busy,
    "paced": paced,
    "threads": threads,
    "replay": graphs.replay,
    "building": graphs.building,
}


def answer(line, lib, way):
    """Do what one request asks."""
    request = json.loads(line)
    return MEASURES[request.pop("measure")](lib, way, **request)


def main():
    """Set the way up, then answer until stdin ends. A failure ends the process with its reason."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=ways.MAKERS)
    parser.add_argument("--folder", required=True, help="where bare.so is")
    parser.add_argument("--driver", required=True, help="the driver library")
    settings = parser.parse_args()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no answer

    def say(content):
        out.write(json.dumps(content) + "\n")
        out.flush()

    try:
        lib = bare.Library(settings.folder, settings.driver)
        way = ways.MAKERS[settings.name](lib)
        gc.disable()  # a collection in the middle of a round tells nothing about launches
        for line in sys.stdin:
            say(answer(line, lib, way))
    except ImportError as absent:
        say({"status": f"absent ({absent})"})
    except Exception as failure:
        say({"status": f"failed: {type(failure).__name__}: {failure}"})
    out.flush()
    os._exit(0)  # whatever a library left behind is not waited for


if __name__ == "__main__":
    main()
