#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hold runs against the targets, in a short table: summary.py FILE.json..."""

import sys

import rows


def line(told):
    """Form one line."""
    head = f"  {told.verdict:<8}{told.row.title}"
    if told.status != "measured":
        return f"{head}: {told.status}"
    text = f"{head}: {rows.number(told.ours)} {told.unit}"
    if told.base is not None:
        word = "of" if told.row.how == "ratio" else "to"
        text += f", {rows.compared_text(told)} {word} {rows.number(told.base)}"
    if told.peer:
        text += f"; {rows.peer_text(told)}"
    goal = rows.target_text(told)
    return f"{text} ({goal})" if goal else text


def main():
    """Print the table; 1 if a file is missing."""
    runs = rows.load(sys.argv[1:])
    for driver, programs in runs.items():
        for program, run in programs.items():
            told = run["conditions"]
            print(f"{program}: {told['device']}, driver {driver} {told['driver version']}")
        for told in rows.results(programs):
            print(line(told))
        for name, status in sorted(rows.not_measured(programs)):
            print(f"  {'':<8}{name}: {status}")
    return 0 if sum(map(len, runs.values())) == len(sys.argv) - 1 else 1


if __name__ == "__main__":
    sys.exit(main())
