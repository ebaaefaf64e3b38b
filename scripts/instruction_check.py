#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Count our instructions per launch and per callback: instruction_check.py BUILD_FOLDER [--record].

Runs BUILD_FOLDER/bench/hostlaunch_bench_instructions (a Release build with
HOSTLAUNCH_BUILD_BENCHMARKS=ON) under callgrind on the embedded driver, with two numbers of rounds,
so that start and end cancel out in the difference. Counted is what the program itself executes: it
holds the library, while the embedded driver and libc are objects of their own. What the bare
calls cost in the same loop is subtracted. Fails if a count exceeds its limit in
bench/instructions.json; --record writes what was counted there instead.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMITS = ROOT / "bench" / "instructions.json"
PER_ROUND = 500
FEW, MANY = 4, 24  # rounds
SLACK = 0.03


class Profile:
    """Self cost in the program, by function, of one thread of one run."""

    def __init__(self, path, program):
        self.costs = collections.Counter()
        self._names = {}
        self._program = program
        self._object = self._function = ""
        self._skip = False
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            self._read(line)

    def _read(self, line):
        name = re.match(r"(ob|fl|fi|fe|fn|cob|cfi|cfl|cfn)=(?:\((\d+)\))?(?: ?(.*))?$", line)
        if name:
            self._set(*name.groups())
        elif line.startswith("calls="):
            self._skip = True  # the next line is the cost of what was called
        elif cost := re.match(r"[-+*\d]\S*(?: [-+*\d]\S*)* (\d+)$", line):
            if not self._skip and self._object == self._program:
                self.costs[self._function] += int(cost.group(1))
            self._skip = False

    def _set(self, key, number, text):
        kind = {"ob": "object", "cob": "object", "fn": "function", "cfn": "function"}.get(
            key, "file"
        )
        value = self._names.setdefault((kind, number), text or "") if number else text
        if key == "ob":
            self._object = value
        elif key == "fn":
            self._function = value

    def total(self):
        """Sum of all functions."""
        return sum(self.costs.values())


def run(program, kind, rounds, folder):
    """Run once under callgrind; the profiles of the launching and of the driver's thread."""
    out = folder / f"{kind}.{rounds}"
    command = [
        "valgrind",
        "--tool=callgrind",
        "--separate-threads=yes",
        f"--callgrind-out-file={out}",
        str(program),
        kind,
        str(rounds),
    ]
    environment = {**os.environ, "HOSTLAUNCH_DRIVER": "embedded"}
    ran = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    if ran.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{ran.stderr}")
    threads = [Profile(f, str(program)) for f in sorted(folder.glob(f"{out.name}-*"))]
    called = "hostlaunch_call" if kind == "lambda" else "bare_nothing"
    driver = [t for t in threads if any(called in name for name in t.costs)]
    if not threads or len(driver) != 1:
        sys.exit(f"{len(driver)} of {len(threads)} threads ran {called}: expected just one")
    return threads[0], driver[0]


def per_call(program, kind, folder):
    """Instructions per launch and per callback, by function, for one kind of launch."""
    few = run(program, kind, FEW, folder)
    many = run(program, kind, MANY, folder)
    calls = (MANY - FEW) * PER_ROUND
    result = []
    for fewer, more in zip(few, many, strict=True):
        names = more.costs.keys() | fewer.costs.keys()
        result.append({n: (more.costs[n] - fewer.costs[n]) / calls for n in names})
    return result


def show(title, costs):
    """Print the functions that cost most."""
    print(f"{title}: {sum(costs.values()):.1f} instructions, of which")
    for name, cost in sorted(costs.items(), key=lambda entry: -entry[1])[:8]:
        if cost >= 0.5:
            print(f"  {cost:6.1f}  {name[:90]}")


def check(counts):
    """Compare with the limits; the number of those exceeded."""
    limits = json.loads(LIMITS.read_text(encoding="utf-8"))
    exceeded = 0
    for name, counted in counts.items():
        recorded = limits[name]
        allowed = recorded * (1 + SLACK)
        over = counted > allowed
        exceeded += over
        verdict = "EXCEEDED" if over else "ok"
        print(f"{name}: {counted:.1f}, recorded {recorded}, at most {allowed:.1f}: {verdict}")
    return exceeded


def main():
    """Count, print, compare or record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="the build folder")
    parser.add_argument("--record", action="store_true", help="write the counts as new limits")
    settings = parser.parse_args()
    program = (settings.build / "bench" / "hostlaunch_bench_instructions").resolve()
    with tempfile.TemporaryDirectory() as folder:
        ours, our_callback = per_call(program, "lambda", pathlib.Path(folder))
        bare, bare_callback = per_call(program, "bare", pathlib.Path(folder))
    show("launch of a lambda", ours)
    show("bare launch with its capture check", bare)
    show("callback of a lambda", our_callback)
    show("bare callback", bare_callback)
    counts = {
        "launch": round(sum(ours.values()) - sum(bare.values()), 1),
        "callback": round(sum(our_callback.values()) - sum(bare_callback.values()), 1),
    }
    if settings.record:
        LIMITS.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
        print(f"recorded in {LIMITS.relative_to(ROOT)}: {counts}")
        return 0
    return 1 if check(counts) else 0


if __name__ == "__main__":
    sys.exit(main())
