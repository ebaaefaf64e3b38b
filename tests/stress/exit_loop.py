#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ends interpreters in many states, over and over: tests/stress/exit_loop.py [REPETITIONS].

Needs the package on the path and, for compiled functions, a C compiler. Each program is drawn from
a seed that is told when it fails; `--seed` runs it again, `--show` prints it.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import platform
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
os.environ.setdefault("HOSTLAUNCH_EMBEDDED_DEVICES", "2")  # as in the other tests

import exit_states
import hostfns
import hostlaunch
from python_build import FREE_THREADED


def arguments():
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("repetitions", type=int, nargs="?", default=1000)
    parser.add_argument("--seed", type=int, help="the first seed (default: chosen anew)")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time")
    parser.add_argument("--show", action="store_true", help="print the programs, run none")
    return parser.parse_args()


def attempt(program):
    """Run it: None, or what is wrong."""
    try:
        exit_states.run(program)
    except AssertionError as error:
        return "\n".join([str(error), *getattr(error, "__notes__", [])])
    return None


def loop(programs, jobs):
    """Run all of them; how many were not as they should be."""
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done, wrong in enumerate(pool.map(attempt, programs), 1):
            if wrong is not None:
                failed += 1
                print(f"FAILED {wrong}\n", flush=True)
            if done % 100 == 0:
                print(f"{done} ended, {failed} of them wrongly", flush=True)
    return failed


def main():
    """Draw, run, count."""
    given = arguments()
    first = int.from_bytes(os.urandom(4), "big") if given.seed is None else given.seed
    driver = hostlaunch.driver().name
    seeds = range(first, first + given.repetitions)
    programs = [
        exit_states.draw(seed, embedded=driver == "embedded", free_threaded=FREE_THREADED)
        for seed in seeds
    ]
    if given.show:
        for program in programs:
            print(f"# seed {program.seed}: {program.name}\n{program.code}\n")
        return 0
    print(f"Python {platform.python_version()}, {driver} driver, seeds from {first}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path = hostfns.build("hostfns.c", pathlib.Path(folder) / "libhostfns.so")
        os.environ[hostfns.ENVIRONMENT] = path
        failed = loop(programs, given.jobs)
    endings = collections.Counter(program.name.rpartition("; ")[2] for program in programs)
    for ending, count in sorted(endings.items()):
        print(f"{count:6} {ending}")
    print(f"{len(programs)} ended, {failed} wrongly, in {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
